internal import HTTPDNSCore

extension SettingsReader {
    /// Reads the settings specific to a provider of kind `alibaba-v1` or `alibaba-v2`; nil after a mistake that leaves no
    /// account.
    mutating func readAlibaba(
        _ version: AlibabaProvider.Version,
        _ fields: Fields,
        _ entry: ConfigurationNode.Entry,
        path: String
    ) -> FileSettings.AlibabaSettings? {
        guard let account = readVendorAccount(fields, entry, path: path) else { return nil }
        var settings = FileSettings.AlibabaSettings(version: version, account: account)
        settings.secret = fields["secret"].flatMap { readSecret($0, path: "\(path).secret") }
        settings.encryptionKey = fields["encryption_key"].flatMap { readSecret($0, path: "\(path).encryption_key") }
        settings.encryption = fields["encryption"]
            .flatMap { word(of: $0, .alibabaEncryptions, path: "\(path).encryption") }
            .flatMap(AlibabaProvider.Encryption.init(rawValue:))
        if (fields["encryption"] == nil) != (fields["encryption_key"] == nil) {
            mistakes.add(
                "\(path): encryption and encryption_key belong together, and one is missing",
                at: entry.key.position,
                hint: "such as encryption: gcm with encryption_key: { env: ALIBABA_AES_KEY }"
            )
        }
        settings.region = fields["region"].flatMap { word(of: $0, .alibabaRegions, path: "\(path).region") }
        if settings.region == AlibabaProvider.Region.global.identifier, fields["bootstrap"] == nil {
            mistakes.add(
                "\(path).region: the region global has no published addresses",
                at: fields["region"]?.position ?? entry.key.position,
                hint: "add bootstrap: [ADDRESS] with those that the vendor gave you"
            )
        }
        settings.discovers = fields["discovery"].flatMap { truth(of: $0, path: "\(path).discovery") }
        if let node = fields["parameters"] {
            settings.customParameters = readCustomParameters(node, path: "\(path).parameters")
        }
        settings.addressesFile = readAddressesFile(fields, path: path)
        return settings
    }

    /// Reads the account at a vendor; nil after a mistake.
    mutating func readVendorAccount(_ fields: Fields, _ entry: ConfigurationNode.Entry, path: String) -> String? {
        guard let node = fields["account"] else {
            mistakes.add(
                "\(path): the key \"account\" is missing",
                at: entry.key.position,
                hint: "it is the number in the vendor's console, such as account: 100000"
            )
            return nil
        }
        return identifier(node, path: "\(path).account")
    }

    /// Reads the path of a vendor's discovered addresses; nil without it, and after a mistake.
    mutating func readAddressesFile(_ fields: Fields, path: String) -> String? {
        guard let node = fields["addresses_file"] else { return nil }
        let file = file
        return value(of: node, path: "\(path).addresses_file", "the path of a file") { text throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: the path of a file") }
            return FilePath.resolve(text, besideFile: file)
        }
    }

    /// Reads the custom parameters. The provider itself checks their characters, when the whole file has been read.
    private mutating func readCustomParameters(_ node: ConfigurationNode, path: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for (key, entry) in entries(of: node, path: path, "keys and values") ?? [] {
            let place = "\(path)[\(quoted(key))]"
            let value = value(of: entry.value, path: place, "a text") { text throws(ValueMistake) in text }
            guard let value else { continue }
            if parameters.updateValue(value, forKey: key) != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
        }
        return parameters
    }
}
