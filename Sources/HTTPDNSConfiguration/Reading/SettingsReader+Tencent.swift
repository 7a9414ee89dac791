internal import HTTPDNSCore

extension SettingsReader {
    /// Reads the settings specific to a provider of kind `tencent`; nil after a mistake that leaves no account.
    mutating func readTencent(
        _ fields: Fields,
        _ entry: ConfigurationNode.Entry,
        path: String
    ) -> FileSettings.TencentSettings? {
        guard let account = readVendorAccount(fields, entry, path: path) else { return nil }
        var settings = FileSettings.TencentSettings(account: account)
        settings.secret = fields["secret"].flatMap { readSecret($0, path: "\(path).secret") }
        settings.encryptionKey = fields["encryption_key"].flatMap { readSecret($0, path: "\(path).encryption_key") }
        if (fields["secret"] == nil) == (fields["encryption_key"] == nil) {
            mistakes.add(
                "\(path): it needs secret, the token, or encryption_key, the AES key, and not both",
                at: entry.key.position,
                hint: "such as secret: { env: TENCENT_TOKEN }"
            )
        }
        settings.region = fields["region"].flatMap { word(of: $0, .tencentRegions, path: "\(path).region") }
        settings.sendsExpiry = fields["expiry"].flatMap { truth(of: $0, path: "\(path).expiry") }
        settings.encryptsClientSubnet = fields["encrypt_client_subnet"]
            .flatMap { truth(of: $0, path: "\(path).encrypt_client_subnet") }
        if let node = fields["account_refused_by"] {
            settings.accountRefusals = readStatuses(node, path: "\(path).account_refused_by")
        }
        settings.discovers = fields["discovery"].flatMap { truth(of: $0, path: "\(path).discovery") }
        settings.addressesFile = readAddressesFile(fields, path: path)
        return settings
    }

    private mutating func readStatuses(_ node: ConfigurationNode, path: String) -> Set<Int> {
        let allowed = "HTTP statuses, one or a list: 400 to 499 but 408 and 429"
        var statuses: Set<Int> = []
        for element in elements(of: node, path: path, allowed) ?? [] {
            let status = value(of: element, path: path, allowed) { text throws(ValueMistake) in
                guard text.utf8.count == 3, let status = Int(text), TencentProvider.mayRefuseAccount(status) else {
                    throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
                }
                return status
            }
            if let status { statuses.insert(status) }
        }
        return statuses
    }
}
