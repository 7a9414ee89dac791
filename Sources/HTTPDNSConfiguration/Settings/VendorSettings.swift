package import HTTPDNSCore
internal import HTTPDNSPrimitives

extension FileSettings {
    /// The settings specific to a provider of kind `alibaba-v1` or `alibaba-v2`.
    package struct AlibabaSettings: Hashable, Sendable {
        package var version: AlibabaProvider.Version
        package var account: String
        package var secret: SecretPlace?
        package var encryption: AlibabaProvider.Encryption?
        package var encryptionKey: SecretPlace?
        /// The identifier of the region; nil means the vendor's default.
        package var region: String?
        package var customParameters: [String: String] = [:]
        package var discovers: Bool?
        package var addressesFile: String?

        package init(version: AlibabaProvider.Version, account: String) {
            self.version = version
            self.account = account
        }

        /// Returns the provider's settings without those that all kinds of provider have.
        func configuration(name: String) -> AlibabaProvider.Configuration {
            let credential = VendorCredential(
                account: account,
                secret: secret?.live,
                encryptionKey: encryptionKey?.live
            )
            var configuration = AlibabaProvider.Configuration(name: name, version: version, credential: credential)
            configuration.encryption = encryption
            configuration.customParameters = customParameters
            if let region = AlibabaProvider.Region.all.first(where: { $0.identifier == region }) {
                configuration.region = region
            }
            if let discovers { configuration.discoversAddresses = discovers }
            configuration.addressStore = addressesFile.map { HTTPDNSDiskStore(path: $0) }
            return configuration
        }
    }
}
