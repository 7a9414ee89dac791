// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPDNSVendors

extension SettingsReader {
    /// Returns the names that routes may use, also those of providers with mistakes, so that each mistake is reported once.
    func providerNames(_ node: ConfigurationNode?) -> [String] {
        guard case .mapping(let entries)? = node?.content else { return [] }
        return entries.compactMap(\.key.text)
    }

    mutating func readProviders(_ node: ConfigurationNode) -> [FileSettings.Provider] {
        guard !node.isEmpty, let entries = entries(of: node, path: "providers", "a name for each provider") else {
            return []
        }
        var lines: [String: Position] = [:]
        return entries.compactMap { name, entry in
            let path = "providers[\(quoted(name))]"
            if let first = lines[name] {
                mistakes.add(
                    "\(path) is written twice: it is on line \(first.line) already",
                    at: entry.key.position,
                    hint: "give one of them another name"
                )
                return nil
            }
            lines[name] = entry.key.position
            checkName(name, entry.key, path: path)
            return readProvider(name, entry, path: path)
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
        if let url = entry.value.text, url.contains("://") {
            mistakes.add(
                "\(path): found a URL; allowed: a mapping with the keys \(KeyTable.dohProvider.keys.joined(separator: ", "))",
                at: entry.value.position,
                hint: "write { kind: doh, url: ... }"
            )
            return nil
        }
        guard let kind = kind(entry, path: path),
            let fields = fields(of: entry.value, KeyTable.provider(kind), path: path)
        else { return nil }
        var provider = FileSettings.Provider(name: name, kind: .doh(method: .get), position: entry.key.position)
        if let node = fields["bootstrap"] { provider.bootstrap = readBootstrap(node, path: "\(path).bootstrap") }
        if let node = fields["ca_file"] { provider.certificateFile = readableFile(of: node, path: "\(path).ca_file") }
        if let node = fields["answer_scope"] {
            provider.answerScope = scope(of: node, path: "\(path).answer_scope")
        }
        provider.limits = fields["limits"].flatMap { readLimits($0, path: "\(path).limits") }
        switch kind {
        case "json-google": provider.kind = .google
        case "json-cloudflare": provider.kind = .cloudflare
        case "json-alidns": provider.kind = .alidns(readAlidnsAccount(fields, entry, path: path))
        case "alibaba-v1", "alibaba-v2":
            let version: HTTPDNSAlibabaProvider.Version = kind == "alibaba-v1" ? .v1 : .v2
            guard let settings = readAlibaba(version, fields, entry, path: path) else { return nil }
            provider.kind = .alibaba(settings)
        case "tencent":
            guard let settings = readTencent(fields, entry, path: path) else { return nil }
            provider.kind = .tencent(settings)
        default:
            if let node = fields["method"], let word = word(of: node, .methods, path: "\(path).method") {
                provider.kind = .doh(method: HTTPDNSDoHProvider.Method(rawValue: word) ?? .get)
            }
        }
        let example = kind == "doh" ? "https://doh.example/dns-query" : "https://dns.example/resolve"
        guard let node = fields["url"] else {
            guard kind == "doh" else { return provider }
            mistakes.add(
                "\(path): the key \"url\" is missing",
                at: entry.key.position,
                hint: "such as url: \(example)"
            )
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
    private mutating func kind(_ entry: ConfigurationNode.Entry, path: String) -> String? {
        guard case .mapping(let entries) = entry.value.content else {
            mistakes.add(
                "\(path): found \(entry.value.found); allowed: a mapping with the keys \(KeyTable.dohProvider.keys.joined(separator: ", "))",
                at: entry.value.position
            )
            return nil
        }
        guard let node = entries.first(where: { $0.key.text == "kind" })?.value else {
            mistakes.add("\(path): the key \"kind\" is missing", at: entry.key.position, hint: "write kind: doh")
            return "doh"
        }
        return word(of: node, .providerKinds, path: "\(path).kind")
    }

    private mutating func readBootstrap(_ node: ConfigurationNode, path: String) -> [HTTPDNSAddress]? {
        let nodes = elements(of: node, path: path, "the service's addresses, one or a list")
        var lines: [HTTPDNSAddress: Position] = [:]
        return nodes?.compactMap { node in
            guard
                let address = value(
                    of: node,
                    path: path,
                    "an address",
                    { text throws(ValueMistake) in
                        try TargetText.parseAddress(text)
                    }
                )
            else { return nil }
            if let first = lines.updateValue(node.position, forKey: address) {
                mistakes.add(
                    "\(path): \(address) is listed twice: it is on line \(first.line) already",
                    at: node.position
                )
            }
            return address
        }
    }
}

extension SettingsReader {
    /// The limits for queries in flight at one provider: as many as there are local ports.
    package static let queriesInFlight = 1...65_535
    /// The limits for queries per second: no service accepts more from one machine.
    package static let queriesPerSecond = 1...1_000_000

    /// Reads a provider's `limits`; missing keys keep their defaults.
    mutating func readLimits(_ node: ConfigurationNode, path: String) -> HTTPDNSResolver.Configuration.ProviderLimits? {
        guard !node.isEmpty, let fields = fields(of: node, .limits, path: path) else { return nil }
        var limits = HTTPDNSResolver.Configuration.ProviderLimits()
        if let node = fields["in_flight"],
            let number = number(of: node, in: Self.queriesInFlight, path: "\(path).in_flight")
        {
            limits.maximumInFlight = number
        }
        if let node = fields["per_second"],
            let number = number(of: node, in: Self.queriesPerSecond, path: "\(path).per_second")
        {
            limits.queriesPerSecond = Double(number)
        }
        return limits
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
