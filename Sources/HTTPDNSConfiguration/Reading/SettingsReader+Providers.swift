// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPDNSVendors

extension SettingsReader {
    mutating func readProviders(_ node: ConfigurationNode, path: String) -> [FileSettings.Provider] {
        guard !node.isEmpty, let entries = entries(of: node, path: path, "a name for each provider") else {
            return []
        }
        var lines: [String: Position] = [:]
        return entries.compactMap { name, entry in
            let place = "\(path)[\(quoted(name))]"
            if let first = lines[name] {
                mistakes.add(
                    "\(place) is written twice: it is on line \(first.line) already",
                    at: entry.key.position,
                    hint: "give one of them another name"
                )
                return nil
            }
            lines[name] = entry.key.position
            checkName(name, entry.key, path: place)
            return readProvider(name, entry, path: place)
        }
    }

    static func isNameOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private mutating func checkName(_ name: String, _ node: ConfigurationNode, path: String) {
        let isWord = name.utf8.allSatisfy(Self.isNameOctet)
        if !isWord || !(1...64).contains(name.utf8.count) {
            mistakes.add(
                "\(path): the name is not allowed; allowed: 1 to 64 of a-z, A-Z, 0-9, -, _ and .",
                at: node.position
            )
        } else if name == "system" {
            mistakes.add(
                "\(path): the name \"system\" stands for the system resolver",
                at: node.position,
                hint: "choose another name"
            )
        }
    }

    private mutating func readProvider(_ name: String, _ entry: ConfigurationNode.Entry, path: String) -> FileSettings
        .Provider?
    {
        guard let kind = kind(entry, path: path),
            var fields = fields(of: entry.value, FileSettings.Provider.table(kind), path: path)
        else { return nil }
        var provider = FileSettings.Provider(name: name, kind: kind, position: entry.key.position)
        let settings = FileSettings.Provider.settings(kind)
        let account = settings.firstIndex { $0.key == "account" } ?? settings.count
        read(settings[..<account], &fields, path: path, into: &provider)
        if account < settings.count {
            if kind == .alidns {
                checkAlidnsAccount(fields, at: entry.key.position, path: path)
            } else if fields["account"] == nil {
                let hint = "it is the number in the vendor's console, such as account: 100000"
                missing("account", path, at: entry.key.position, hint: hint)
            }
            read(settings[account...account], &fields, path: path, into: &provider)
            if kind != .alidns, provider.account == nil { return nil }
            read(settings[(account + 1)...], &fields, path: path, into: &provider)
            checkAccount(provider, fields, at: entry.key.position, path: path)
        }
        let example = kind == .doh ? "https://doh.example/dns-query" : "https://dns.example/resolve"
        guard let node = fields["url"] else {
            guard kind == .doh else { return provider }
            missing("url", path, at: entry.key.position, hint: "such as url: \(example)")
            return nil
        }
        let hasBootstrap = fields["bootstrap"] != nil
        provider.url = value(of: node, path: "\(path).url", "an https URL") { text throws(ValueMistake) in
            try ServiceURLText.check(text, hasBootstrap: hasBootstrap, example: example)
            return text
        }
        return provider
    }

    /// Reads the kind of a provider.
    ///
    /// It is read first: other kinds have other keys, for which errors about `doh` keys would be wrong.
    private mutating func kind(_ entry: ConfigurationNode.Entry, path: String) -> FileSettings.Provider.Kind? {
        guard case .mapping(let entries) = entry.value.content else {
            let isURL = entry.value.text?.contains("://") == true
            let keys = FileSettings.Provider.table(.doh).keys.joined(separator: ", ")
            mistakes.add(
                "\(path): found \(isURL ? "a URL" : entry.value.found); allowed: a mapping with the keys \(keys)",
                at: entry.value.position,
                hint: isURL ? "write { kind: doh, url: ... }" : nil
            )
            return nil
        }
        guard let node = entries.first(where: { $0.key.text == "kind" })?.value else {
            missing("kind", path, at: entry.key.position, hint: "write kind: doh")
            return .doh
        }
        return read(.cases(), of: node, path: "\(path).kind")
    }

    // MARK: accounts

    /// Checks the keys of an account together.
    private mutating func checkAccount(
        _ provider: FileSettings.Provider,
        _ fields: Fields,
        at position: Position,
        path: String
    ) {
        switch provider.kind {
        case .alibabaV1, .alibabaV2:
            if (fields["encryption"] == nil) != (fields["encryption_key"] == nil) {
                mistakes.add(
                    "\(path): encryption and encryption_key belong together, and one is missing",
                    at: position,
                    hint: "such as encryption: gcm with encryption_key: { env: ALIBABA_AES_KEY }"
                )
            }
            if provider.region == HTTPDNSAlibabaProvider.Region.global.identifier, fields["bootstrap"] == nil {
                mistakes.add(
                    "\(path).region: the region global has no published addresses",
                    at: fields["region"]?.position ?? position,
                    hint: "add bootstrap: [ADDRESS] with those that the vendor gave you"
                )
            }
        case .tencent:
            if (fields["secret"] == nil) == (fields["encryption_key"] == nil) {
                mistakes.add(
                    "\(path): it needs secret, the token, or encryption_key, the AES key, and not both",
                    at: position,
                    hint: "such as secret: { env: TENCENT_TOKEN }"
                )
            }
        case .doh, .google, .cloudflare, .alidns: break
        }
    }

    /// Checks that all keys of an account of Alidns are there, or none.
    fileprivate mutating func checkAlidnsAccount(_ fields: Fields, at position: Position, path: String) {
        let absent = ["account", "access_key", "secret"].filter { fields[$0] == nil }
        for key in absent where absent.count < 3 {
            let hint = "an account needs account, access_key and secret; without all three it is the free service"
            missing(key, path, at: position, hint: hint)
        }
    }

    /// Reads the custom parameters. The provider itself checks their characters, when the whole file has been read.
    mutating func readCustomParameters(_ node: ConfigurationNode, path: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for (key, entry) in entries(of: node, path: path, "keys and values") ?? [] {
            let place = "\(path)[\(quoted(key))]"
            guard let value = read(.text("a text"), of: entry.value, path: place) else { continue }
            if parameters.updateValue(value, forKey: key) != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
        }
        return parameters
    }
}

extension FileSettings.AlidnsAccount {
    private static let settings = Array(FileSettings.Provider.settings(.alidns).suffix(3))

    /// The account of a local provider.
    static let form = SettingForm<Self>(
        settings,
        of: { FileSettings.Provider(name: "", kind: .alidns, position: .none) }
    ) { reader, node, path, _ in
        var provider = FileSettings.Provider(name: "", kind: .alidns, position: node.position)
        guard var fields = reader.fields(of: node, KeyTable(path, settings), path: path) else { return nil }
        reader.checkAlidnsAccount(fields, at: node.position, path: path)
        reader.read(settings[...], &fields, path: path, into: &provider)
        guard let account = provider.account, let accessKey = provider.accessKey, let secret = provider.secret else {
            return nil
        }
        return Self(account: account, accessKey: accessKey, secret: secret)
    }
}

/// The check of provider URLs. Only mistakes with a specific hint are found here; the provider parses the URL in full.
enum ServiceURLText {
    /// - Parameter example: A URL of this kind of service, for errors.
    static func check(_ text: String, hasBootstrap: Bool, example: String) throws(ValueMistake) {
        let allowed = "allowed: an https URL such as \(example)"
        let authority = (text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...])
            .prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        // The text before @ may be a secret: it is not repeated.
        guard !authority.contains("@") else {
            throw ValueMistake("the URL holds a user name or password; \(allowed)")
        }
        if text.hasSuffix("{?dns}") {
            throw ValueMistake("\(quoted(text)) is a URI template; \(allowed)", hint: "write \(text.dropLast(6))")
        }
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
        guard let scheme, scheme == "https" || scheme == "http", !authority.isEmpty else {
            throw ValueMistake(
                "\(quoted(text)) is not an https URL; \(allowed)",
                hint: scheme == nil && !text.isEmpty ? "did you mean https://\(text)?" : nil
            )
        }
        let isLiteral = TargetText.isAddress(String(authority))
        if scheme == "http", !isLiteral {
            throw ValueMistake(
                "\(quoted(text)) is not encrypted; \(allowed)",
                hint: "http is for loopback addresses only"
            )
        }
        guard isLiteral || hasBootstrap else {
            throw ValueMistake(
                "\(quoted(text)) is by name, and the service's own name is never looked up",
                hint: "add bootstrap: [ADDRESS] with the service's addresses"
            )
        }
    }
}
