// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension KeyTable {
    package static let proxy = KeyTable(
        name: "client.proxy",
        keys: ["url", "user", "password", "scheme", "resolve", "enforces_reachable_networks", "except"]
    )
}

extension WordTable {
    package static let proxyResolvers = WordTable(words: ["proxy", "local"])
    package static let networks = WordTable(
        words: [HTTPDNSClient.ReachableNetworks.any, .publicInternet].map(\.description)
    )
}

/// The egress settings: proxies, Unix sockets, local addresses.
extension SettingsReader {
    private static let proxyForm = "a proxy such as http://proxy.example:3128, environment, or none"

    mutating func readEgress(_ fields: Fields, into settings: inout FileSettings) {
        if let node = fields["proxy"] { settings.proxy = readProxy(node) ?? .direct }
        if let node = fields["unix_socket"] { settings.unixSocket = readUnixSocket(node) }
        if let node = fields["local_source"] {
            let form = "a network interface such as eth0, or an address of this machine"
            settings.localSource = value(of: node, path: "client.local_source", form) { text throws(ValueMistake) in
                try Self.refuseTruth(text, form)
                if let address = HTTPDNSAddress(text) { return .address(address) }
                // Linux has room for 15 bytes (IFNAMSIZ).
                guard (1...15).contains(text.utf8.count),
                    text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") })
                else { throw ValueMistake("found \(quoted(text)); allowed: \(form)") }
                return .interface(text)
            }
        }
        if let node = fields["reachable_networks"],
            let word = word(of: node, .networks, path: "client.reachable_networks")
        {
            settings.reachableNetworks =
                word == HTTPDNSClient.ReachableNetworks.any.description ? .any : .publicInternet
        }
        if settings.proxy != .direct, settings.unixSocket != nil, let node = fields["unix_socket"] {
            mistakes.add(
                "client.unix_socket: there is a client.proxy too, and nothing goes through a proxy to a Unix socket",
                at: node.position,
                hint: "keep one of them"
            )
        }
    }

    private mutating func readProxy(_ node: ConfigurationNode) -> HTTPDNSClient.Proxy.Rules? {
        let path = "client.proxy"
        if node.isEmpty { return .direct }
        guard case .mapping = node.content else {
            return value(of: node, path: path, Self.proxyForm) { text throws(ValueMistake) in
                if text == "environment" { return .environment }
                if text == "none" { return .direct }
                return .through(try Self.proxy(text, Self.proxyForm))
            }
        }
        guard let fields = fields(of: node, .proxy, path: path) else { return nil }
        guard let url = fields["url"] else {
            mistakes.add(
                "\(path): the key \"url\" is missing",
                at: node.position,
                hint: "such as http://proxy.example:3128"
            )
            return nil
        }
        let form = "a proxy such as http://proxy.example:3128"
        let read = value(of: url, path: "\(path).url", form) {
            text throws(ValueMistake) in try Self.proxy(text, form)
        }
        let user = fields["user"].flatMap { node in
            value(of: node, path: "\(path).user", "the user's name") { text throws(ValueMistake) in text }
        }
        let password = fields["password"].flatMap { readSecret($0, path: "\(path).password") }
        let scheme = fields["scheme"].flatMap { word(of: $0, .proxySchemes, path: "\(path).scheme") }
        let resolver = fields["resolve"].flatMap { word(of: $0, .proxyResolvers, path: "\(path).resolve") }
        let enforces = fields["enforces_reachable_networks"].flatMap {
            truth(of: $0, path: "\(path).enforces_reachable_networks")
        }
        let exceptions = fields["except"].map { readExceptions($0, path: "\(path).except") } ?? .none
        if fields["user"] == nil, let node = fields["password"] {
            mistakes.add("\(path).password: there is no user", at: node.position, hint: "give \(path).user")
        }
        if fields["user"] == nil, let node = fields["scheme"] {
            mistakes.add("\(path).scheme: there is no user", at: node.position, hint: "give \(path).user")
        }
        guard var proxy = read else { return nil }
        proxy.resolvesLocally = resolver == "local"
        proxy.enforcesReachableNetworks = enforces ?? false
        if let user {
            var credential = HTTPDNSClient.Proxy.Credential(user: user, password: password?.live)
            if scheme == "digest" { credential.scheme = .digest }
            proxy.credential = credential
        }
        return .through(proxy, except: exceptions)
    }

    /// Refuses truth values: `yes` would be the name of a proxy or an interface, and is never meant as one.
    private static func refuseTruth(_ text: String, _ allowed: String) throws(ValueMistake) {
        guard otherTruths[text.lowercased()] != nil else { return }
        throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
    }

    private static func proxy(_ text: String, _ allowed: String) throws(ValueMistake) -> HTTPDNSClient.Proxy {
        try refuseTruth(text, allowed)
        let proxy: HTTPDNSClient.Proxy
        do throws(HTTPDNSClientError) {
            proxy = try HTTPDNSClient.Proxy(text)
        } catch {
            throw ValueMistake(error.message, hint: error.hint)
        }
        guard proxy.credential == nil else {
            throw ValueMistake(
                "the proxy \(proxy) has a user in its URL",
                hint:
                    "a password does not belong into this file: give user, and password: { file: PATH } or { env: NAME }"
            )
        }
        return proxy
    }

    private mutating func readExceptions(_ node: ConfigurationNode, path: String) -> HTTPDNSClient.Proxy.Exceptions {
        let form = "names, addresses or blocks such as 10.0.0.0/8, one or a list"
        var texts: [String] = []
        for node in elements(of: node, path: path, form) ?? [] {
            let text = value(of: node, path: path, form) { text throws(ValueMistake) in
                do throws(HTTPDNSClientError) {
                    _ = try HTTPDNSClient.Proxy.Exceptions([text])
                } catch {
                    throw ValueMistake(error.message, hint: error.hint)
                }
                return text
            }
            guard let text else { continue }
            if texts.contains(text) { mistakes.add("\(path): \(text) is listed twice", at: node.position) }
            texts.append(text)
        }
        return (try? HTTPDNSClient.Proxy.Exceptions(texts)) ?? .none
    }

    private mutating func readUnixSocket(_ node: ConfigurationNode) -> String? {
        let (file, form) = (file, "the path of a Unix socket")
        return value(of: node, path: "client.unix_socket", form) { text throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: \(form)") }
            let path = FilePath.resolve(text, besideFile: file)
            // `sun_path` has 108 bytes on Linux, one of them for the end. A missing server shows only when a request is sent.
            guard path.utf8.count <= 107 else {
                throw ValueMistake("\(quoted(path)) has \(path.utf8.count) bytes, and the system takes 107")
            }
            return path
        }
    }
}
