// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSVendors

extension SettingsReader {
    /// Reads the settings specific to a provider of kind `alibaba-v1` or `alibaba-v2`; nil after a mistake that leaves no
    /// account.
    mutating func readAlibaba(
        _ version: HTTPDNSAlibabaProvider.Version,
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
            .flatMap(HTTPDNSAlibabaProvider.Encryption.init(rawValue:))
        if (fields["encryption"] == nil) != (fields["encryption_key"] == nil) {
            mistakes.add(
                "\(path): encryption and encryption_key belong together, and one is missing",
                at: entry.key.position,
                hint: "such as encryption: gcm with encryption_key: { env: ALIBABA_AES_KEY }"
            )
        }
        settings.region = fields["region"].flatMap { word(of: $0, .alibabaRegions, path: "\(path).region") }
        if settings.region == HTTPDNSAlibabaProvider.Region.global.identifier, fields["bootstrap"] == nil {
            mistakes.add(
                "\(path).region: the region global has no published addresses",
                at: fields["region"]?.position ?? entry.key.position,
                hint: "add bootstrap: [ADDRESS] with those that the vendor gave you"
            )
        }
        settings.discovers = fields["discovery"].flatMap { truth(of: $0, path: "\(path).discovery") }
        if let node = fields["custom_parameters"] {
            settings.customParameters = readCustomParameters(node, path: "\(path).custom_parameters")
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
        if let node = fields["account_refusal_statuses"] {
            settings.accountRefusals = readStatuses(node, path: "\(path).account_refusal_statuses")
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
                guard text.utf8.count == 3, let status = Int(text), HTTPDNSTencentProvider.mayRefuseAccount(status)
                else {
                    throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
                }
                return status
            }
            if let status { statuses.insert(status) }
        }
        return statuses
    }
}

extension SettingsReader {
    /// Reads the account of a provider of kind `json-alidns`; nil without one, and after a mistake.
    mutating func readAlidnsAccount(
        _ fields: Fields,
        _ entry: ConfigurationNode.Entry,
        path: String
    ) -> FileSettings.AlidnsAccount? {
        let keys = ["account", "access_key", "secret"]
        let missing = keys.filter { fields[$0] == nil }
        if missing.count == keys.count { return nil }
        for key in missing {
            mistakes.add(
                "\(path): the key \"\(key)\" is missing",
                at: entry.key.position,
                hint: "an account needs account, access_key and secret; without all three it is the free service"
            )
        }
        let account = fields["account"].flatMap { identifier($0, path: "\(path).account") }
        let accessKey = fields["access_key"].flatMap { identifier($0, path: "\(path).access_key") }
        let secret = fields["secret"].flatMap { readSecret($0, path: "\(path).secret") }
        guard let account, let accessKey, let secret else { return nil }
        return FileSettings.AlidnsAccount(account: account, accessKey: accessKey, secret: secret)
    }

    /// Reads an account or the identifier of a key; nil after a mistake.
    mutating func identifier(_ node: ConfigurationNode, path: String) -> String? {
        value(of: node, path: path, "1 to 128 of a-z, A-Z, 0-9, -, _ and .") { text throws(ValueMistake) in
            guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isNameOctet) else {
                throw ValueMistake("found \(quoted(text)); allowed: 1 to 128 of a-z, A-Z, 0-9, -, _ and .")
            }
            return text
        }
    }

    /// Reads the source of a secret: `{ file: PATH }` or `{ env: NAME }`. A secret in clear text is not repeated.
    mutating func readSecret(_ node: ConfigurationNode, path: String) -> FileSettings.SecretPlace? {
        guard case .mapping = node.content else {
            if allowsSecretTexts, let text = node.text, !text.isEmpty { return .text(FileSettings.SecretText(text)) }
            mistakes.add(
                "\(path): found \(node.isEmpty ? "nothing" : "a value"); allowed: { file: PATH } or { env: NAME }",
                at: node.position,
                hint: "a secret itself does not belong into this file"
            )
            return nil
        }
        guard let fields = fields(of: node, .secret, path: path) else { return nil }
        switch (fields["file"], fields["env"]) {
        case (let file?, nil):
            return readableFile(of: file, path: "\(path).file", "the path of a file").map { .file($0) }
        case (nil, let name?):
            return value(of: name, path: "\(path).env", "the name of an environment variable") {
                text throws(ValueMistake) in
                guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "=") }) else {
                    throw ValueMistake("found \(quoted(text)); allowed: the name of an environment variable")
                }
                return .environment(text)
            }
        case (nil, nil), (.some, .some):
            mistakes.add(
                "\(path): it must have one of the keys file and env",
                at: node.position,
                hint: "such as { file: /run/secrets/alidns }"
            )
            return nil
        }
    }
}
