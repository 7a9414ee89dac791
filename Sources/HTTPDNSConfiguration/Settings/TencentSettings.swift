internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension FileSettings {
    /// The settings specific to a provider of kind `tencent`.
    package struct TencentSettings: Hashable, Sendable {
        package var account: String
        /// The token; nil for an account with encryption.
        package var secret: SecretPlace?
        package var encryptionKey: SecretPlace?
        /// The identifier of the region; nil means the vendor's default.
        package var region: String?
        package var sendsExpiry: Bool?
        package var encryptsClientSubnet: Bool?
        package var accountRefusals: Set<Int> = []
        package var discovers: Bool?
        package var addressesFile: String?

        package init(account: String) {
            self.account = account
        }

        /// Returns the provider's settings without those that all kinds of provider have.
        func configuration(name: String) -> TencentProvider.Configuration {
            let credential = VendorCredential(
                account: account,
                secret: secret?.live,
                encryptionKey: encryptionKey?.live
            )
            var configuration = TencentProvider.Configuration(name: name, credential: credential)
            if let region = TencentProvider.Region.all.first(where: { $0.identifier == region }) {
                configuration.region = region
            }
            if let sendsExpiry { configuration.sendsExpiry = sendsExpiry }
            if let encryptsClientSubnet { configuration.encryptsClientSubnet = encryptsClientSubnet }
            configuration.accountRefusalStatuses = accountRefusals
            if let discovers { configuration.discoversAddresses = discovers }
            configuration.addressStore = addressesFile.map { HTTPDNSDiskStore(path: $0) }
            return configuration
        }
    }
}
