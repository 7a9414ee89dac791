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
