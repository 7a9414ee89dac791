// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

struct ResolveRules {
    private var rules: [ResolveArgument] = []

    /// - Parameter url: The URL of the request.
    init(_ texts: [String], _ url: String) throws(CommandFailure) {
        let parsed = try? ParsedURL(url)
        for text in texts {
            // As in curl, `-HOST:PORT` removes an earlier value, and a later value replaces an earlier one.
            let isRemoval = text.hasPrefix("-")
            let rule = try ResolveArgument(isRemoval ? "\(text.dropFirst())" : text, parsed, isRemoval: isRemoval)
            rules.removeAll { $0.place == rule.place }
            if !isRemoval { rules.append(rule) }
        }
    }

    /// Applies the values: as mappings of names, and as addresses of a request to an address or to `localhost`, for
    /// which there are no mappings.
    func apply(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings) throws(CommandFailure) {
        let url = try? ParsedURL(request.url)
        // A value with the host's name holds before one with `*`.
        for rule in rules.filter(\.isForEveryHost) + rules.filter({ !$0.isForEveryHost }) {
            try rule.apply(to: &request, url, &settings)
        }
    }
}

/// A value of `--resolve`: the addresses for one port of a host.
struct ResolveArgument {
    /// The host and port, as far as values are compared.
    let place: String
    let isForEveryHost: Bool
    private let text: String
    private let host: String
    private let port: UInt16
    private let addresses: [String]

    private static let form =
        "write --resolve HOST:PORT:ADDRESS[,ADDRESS], such as --resolve img.shop.example:443:203.0.113.7"

    /// - Parameters:
    ///   - text: `[+]HOST:PORT:ADDRESS[,ADDRESS]`; `*` stands for the host of the URL, and an IPv6 address has
    ///     brackets.
    ///   - url: The URL of the request; nil when it cannot be read.
    ///   - isRemoval: Whether the text is `HOST:PORT`; anything behind it is ignored.
    fileprivate init(_ text: String, _ url: ParsedURL?, isRemoval: Bool) throws(CommandFailure) {
        self.text = text
        let value = text.hasPrefix("+") ? text.dropFirst() : text[...]
        let name =
            String(value.hasPrefix("[") ? value.prefix { $0 != "]" } : value.prefix { $0 != ":" })
            + (value.hasPrefix("[") ? "]" : "")
        let rest = value.dropFirst(name.count)
        let parts = rest.dropFirst().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard rest.hasPrefix(":"), let port = UInt16(digits: parts[0]), port > 0,
            isRemoval || parts.count == 2 && !parts[1].isEmpty
        else { throw .usage("--resolve \"\(text)\" is not a host, a port and its addresses", hint: Self.form) }
        isForEveryHost = name == "*"
        let given = AddressForm.withoutBrackets(name)
        host = isForEveryHost ? url?.hostText ?? given : given
        self.port = port
        addresses = isRemoval ? [] : parts[1].split(separator: ",").map { AddressForm.withoutBrackets($0) }
        place = "\(Self.canonical(given)) \(port)"
    }

    /// Whether there are no mappings for the host.
    private var isLiteral: Bool {
        HTTPDNSAddress(AddressForm.withoutBrackets(host)) != nil || (try? HTTPDNSName(host))?.isLocalhost == true
    }

    fileprivate func apply(
        to request: inout HTTPDNSClient.Request,
        _ url: ParsedURL?,
        _ settings: inout ClientSettings
    ) throws(CommandFailure) {
        guard isLiteral else {
            let mapping = HTTPDNSMapping.addresses(addresses)
            let (key, rule) = try Self.rule(host, port, mapping, option: "--resolve", text: text, hint: Self.form)
            return settings.map(key, to: rule)
        }
        let targets = addresses.compactMap { HTTPDNSAddress($0) }
        guard !targets.isEmpty, targets.count == addresses.count else {
            throw .usage("--resolve \"\(text)\" has a text that is no address", hint: Self.form)
        }
        guard let url, url.port == port, Self.canonical(host) == Self.canonical(url.hostText) else { return }
        request.changeOptions { $0.addresses = .only(targets.map { .init($0) }) }
    }

    /// Returns one spelling of a host for all of its spellings.
    private static func canonical(_ host: String) -> String {
        let name = AddressForm.withoutBrackets(host)
        return HTTPDNSAddress(name)?.description ?? (try? HTTPDNSName(name))?.description ?? name.lowercased()
    }

    static func rule(
        _ host: String,
        _ port: UInt16?,
        _ mapping: HTTPDNSMapping,
        option: String,
        text: String,
        hint: String
    ) throws(CommandFailure) -> (HTTPDNSMapping.Key, HTTPDNSMapping) {
        do throws(HTTPDNSMapping.Error) {
            let key = try HTTPDNSMapping.Key(port.map { "\(host):\($0)" } ?? host)
            var rule = mapping
            rule.location = HTTPDNSSourceLocation(file: option)
            _ = try HTTPDNSMappings([key: rule])
            return (key, rule)
        } catch {
            throw .usage("\(option) \"\(text)\": \(error.reason)", hint: hint)
        }
    }
}

/// The values of `--connect-to`, of which the first one that fits a URL holds.
struct ConnectToRules: Sendable {
    private let rules: [ConnectToArgument]

    init(_ texts: [String], _ url: String) throws(CommandFailure) {
        let parsed = try? ParsedURL(url)
        rules = try texts.map { text throws(CommandFailure) in try ConnectToArgument(text, parsed) }
    }

    /// Whether a value has an empty host, so that it holds for the targets of redirects as well.
    var holdForEveryHost: Bool { rules.contains(where: \.isForEveryHost) }

    /// Refuses an empty host with a name to connect to when redirects are followed: a mapping has one host.
    func checkForRedirects() throws(CommandFailure) {
        guard !rules.contains(where: { $0.isForEveryHost && !$0.isForRequest }) else {
            throw .usage(
                "--connect-to with an empty host needs an address to connect to when redirects are followed",
                hint: "give its address in place of the name, or name the host"
            )
        }
    }

    /// Applies the values: as mappings of the hosts that they name, and as addresses of the request.
    func apply(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings) throws(CommandFailure) {
        // A mapping replaces an earlier one with its key.
        for rule in rules.reversed() { try rule.apply(to: &settings) }
        if let targets = targets(for: request.url) { request.changeOptions { $0.addresses = .only(targets) } }
    }

    /// Returns the addresses for a URL; nil when no value fits, or the mappings have them.
    func targets(for url: String) -> [HTTPDNSClient.Request.Target]? {
        guard let url = try? ParsedURL(url), let rule = rules.first(where: { $0.fits(url) }), rule.isForRequest else {
            return nil
        }
        return rule.targets.map { .init($0) }
    }
}

/// A value of `--connect-to`: another host and port to connect to.
private struct ConnectToArgument: Sendable {
    private let text: String
    /// Whether the host is empty, which stands for every host.
    let isForEveryHost: Bool
    private let host: String
    private let port: UInt16?
    let targets: [String]
    private let name: String?

    /// - Parameter text: `HOST1:PORT1:HOST2:PORT2`. An empty part stands for every host or port, and for that of the URL.
    init(_ text: String, _ url: ParsedURL?) throws(CommandFailure) {
        let form =
            "write --connect-to HOST1:PORT1:HOST2:PORT2, such as --connect-to img.shop.example:443:127.0.0.1:8443"
        let parts = AddressForm.parts(text)
        guard parts.count == 4, let port1 = AddressForm.port(parts[1]), let port2 = AddressForm.port(parts[3]), let url
        else { throw .usage("--connect-to \"\(text)\" is not two hosts with ports", hint: form) }
        self.text = text
        isForEveryHost = parts[0].isEmpty
        host = parts[0].isEmpty ? url.hostText : parts[0]
        port = port1 ?? nil
        let host2 = parts[2].isEmpty ? host : parts[2]
        let suffix = (port2 ?? nil).map { ":\($0)" } ?? ""
        let literals = host2.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host2]
        targets = literals.compactMap { HTTPDNSAddress($0) }.map { address in
            suffix.isEmpty
                ? address.description : address.family == .v6 ? "[\(address)]\(suffix)" : "\(address)\(suffix)"
        }
        name = targets.isEmpty ? host2 : nil
        guard name == nil || suffix.isEmpty || (port2 ?? nil) == port ?? url.port else {
            throw .usage(
                "--connect-to \"\(text)\": another port needs the address of \(host2)",
                hint: "give its address in place of the name"
            )
        }
    }

    /// Whether the addresses are those of a request. Mappings are for names alone.
    var isForRequest: Bool { !targets.isEmpty && (isForEveryHost || HTTPDNSAddress(host) != nil) }

    func fits(_ url: ParsedURL) -> Bool {
        (isForEveryHost || host.lowercased() == url.hostText) && (port == nil || port == url.port)
    }

    func apply(to settings: inout ClientSettings) throws(CommandFailure) {
        guard !isForRequest, HTTPDNSAddress(host) == nil else { return }
        let isSame = name == host
        let (key, rule) = try ResolveArgument.rule(
            host,
            port,
            name.map { isSame ? .system : .via($0) } ?? .addresses(targets),
            option: "--connect-to",
            text: text,
            hint: "give a name, or nothing for every host"
        )
        if !isSame { settings.map(key, to: rule) }
    }
}

/// The parts of curl's forms of hosts, ports and addresses.
private enum AddressForm {
    static func withoutBrackets(_ text: some StringProtocol) -> String {
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : String(text)
    }

    /// Returns the parts between colons outside brackets, without the brackets.
    static func parts(_ text: String) -> [String] {
        var isBracketed = false
        return text.split(maxSplits: .max, omittingEmptySubsequences: false) { character in
            if character == "[" { isBracketed = true }
            if character == "]" { isBracketed = false }
            return character == ":" && !isBracketed
        }.map { withoutBrackets($0) }
    }

    /// Returns a port, `.some(nil)` for an empty text, and nil for anything else.
    static func port(_ text: String) -> UInt16?? {
        if text.isEmpty { return .some(nil) }
        guard let port = UInt16(digits: text), port > 0 else { return nil }
        return port
    }
}
#endif
