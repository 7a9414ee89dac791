// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCore

/// `@SERVER` with the words of dig about it: a server that is asked alone, in place of the client's resolver.
struct ServerArgument: Sendable {
    enum Carrier: Hashable, Sendable {
        /// Datagrams, and TCP for what is too long for them.
        case datagrams
        case tcp
        case tls
        /// DNS over HTTPS, at a path.
        case https(String)
    }

    /// The names of its provider, and of that of the system's name servers.
    static let (providerName, systemName) = ("server", "system")
    /// The servers without `@SERVER`.
    static let nameServers = HTTPDNSDNSProvider.Servers.file("/etc/resolv.conf")

    /// The server and its port, 0 for the usual one; nil for ``nameServers``.
    private(set) var server: HostArgument?
    private(set) var carrier = Carrier.datagrams
    /// The name in the server's certificate; nil means the server itself.
    private var tlsName: HTTPDNSName?
    private var givenTimeLimit: Duration?

    /// Whether a server is given, or that those of the system are asked.
    var isGiven: Bool { server != nil || carrier != .datagrams }
    /// The time limit; without `+time` that of dig.
    var timeLimit: Duration { givenTimeLimit ?? .seconds(5) }

    /// Adds `@192.0.2.53`, `@192.0.2.53:5353`, `@[2001:db8::53]:5353` or `@ns.example`.
    mutating func set(server text: Substring) throws(CommandFailure) {
        guard server == nil else {
            throw .usage("two servers are given; one is asked", hint: "@URL may be repeated, as --doh URL")
        }
        guard !text.contains("/") else {
            let host = String(text.prefix { $0 != "/" })
            let path = String(text.dropFirst(host.count))
            throw .usage(
                "@\(PrintableText.line(String(text))) has a path",
                hint: "DNS over HTTPS is @\(PrintableText.line(host)) \(ShellText.quoted("+https=\(path)"))"
            )
        }
        server = try HostArgument(String(text), defaultPort: 0)
    }

    /// Adds `-p PORT`, and checks that words about a server have one.
    mutating func finish(port: UInt16?) throws(CommandFailure) {
        if server == nil, case .https = carrier {
            throw .usage("+https has no @SERVER", hint: "write @SERVER +https, or @https://SERVER/dns-query")
        }
        if tlsName != nil, carrier != .tls {
            throw .usage("+tls-hostname is for +tls", hint: "write @SERVER +tls +tls-hostname=NAME")
        }
        guard isGiven || givenTimeLimit == nil else {
            throw .usage("+time has no @SERVER", hint: "resolver.time_limit of a file limits other lookups")
        }
        guard let port else { return }
        let hint = "write @SERVER:PORT, or @SERVER -p PORT"
        guard let given = server else { throw .usage("-p has no @SERVER", hint: hint) }
        guard given.port == 0 else { throw .usage("@SERVER and -p both give a port", hint: hint) }
        server = try HostArgument("\(given.bracketed):\(port)")
    }

    /// Adds `+tcp`, `+tls`, `+tls-hostname=NAME`, `+https`, `+https=/path` or `+time=SECONDS`.
    /// - Returns: Whether it is one of these.
    mutating func set(word: String) throws(CommandFailure) -> Bool {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = parts.count > 1 ? parts[1] : nil
        switch (parts[0], value) {
        case ("+tcp", nil):
            try set(carrier: .tcp)
        case ("+tls", nil):
            try set(carrier: .tls)
        case ("+tls-hostname", let text?):
            guard let name = try? HTTPDNSName(text) else {
                throw .usage("+tls-hostname has no name", hint: "write +tls-hostname=dns.example")
            }
            tlsName = name
        case ("+https", let path):
            guard path?.hasPrefix("/") ?? true else {
                throw .usage("+https has no path that begins with /", hint: "write +https or +https=/dns-query")
            }
            try set(carrier: .https(path ?? "/dns-query"))
        case ("+time", let text?):
            guard let seconds = UInt16(digits: text), seconds > 0 else {
                throw .usage("+time has no whole number of seconds", hint: "write +time=5")
            }
            givenTimeLimit = .seconds(Int64(seconds))
        default: return false
        }
        return true
    }

    private mutating func set(carrier: Carrier) throws(CommandFailure) {
        guard self.carrier == .datagrams || self.carrier == carrier else {
            throw .usage("+tcp, +tls and +https are different protocols", hint: "leave all but one of them out")
        }
        self.carrier = carrier
    }

    /// Throws a usage failure for options about other sources.
    func check(_ options: CommonOptions) throws(CommandFailure) {
        guard isGiven else { return }
        let others = [
            ("--config", options.configurationFile != nil), ("--map", !options.maps.isEmpty),
            ("--doh and @URL", !options.dohURLs.isEmpty), ("--public", options.usesPublicProviders),
            ("--system-fallback", options.usesSystemFallback), ("--allow", !options.allowedBlocks.isEmpty),
            ("--answer-scope", options.answerScope != .public),
        ]
        guard let other = others.first(where: \.1)?.0 else { return }
        throw .usage(
            "\(other) cannot be used with \(server.map { "@\($0.text)" } ?? "+tcp"), which is asked alone",
            hint: "leave one of them out"
        )
    }

    /// Returns the provider that asks the server.
    func provider(_ options: CommonOptions) async throws -> any RecordProvider {
        let addresses = try await addresses(options)
        do throws(HTTPDNSProviderConfigurationError) {
            guard case .https(let path) = carrier, let server else {
                let usual: UInt16 = carrier == .tls ? 853 : 53
                let servers = server.map { server in
                    let port = server.port == 0 ? usual : server.port
                    return HTTPDNSDNSProvider.Servers.addresses(addresses.map { .init(address: $0, port: port) })
                }
                return try nameServers(servers ?? Self.nameServers, options)
            }
            var settings = HTTPDNSDoHProvider.Configuration(
                name: Self.providerName,
                url: "https://\(server.bracketed)\(server.port == 0 ? "" : ":\(server.port)")\(path)",
                bootstrap: addresses
            )
            if let file = options.certificateAuthorityFile { settings.trustRoots = .file(file) }
            return try HTTPDNSDoHProvider(settings)
        } catch {
            throw CommandFailure.usage("@\(server?.text ?? ""): \(error.message)")
        }
    }

    private func nameServers(
        _ servers: HTTPDNSDNSProvider.Servers,
        _ options: CommonOptions
    ) throws(HTTPDNSProviderConfigurationError) -> HTTPDNSDNSProvider {
        let name = server == nil ? Self.systemName : Self.providerName
        var settings = HTTPDNSDNSProvider.Configuration(name: name, servers: servers)
        switch carrier {
        case .tcp: settings.transport = .tcp
        case .tls: settings.transport = .tls
        case .datagrams, .https: break
        }
        if case .name(let name)? = server?.host { settings.tlsName = name }
        settings.tlsName = tlsName ?? settings.tlsName
        if let file = options.certificateAuthorityFile { settings.trustRoots = .file(file) }
        return try HTTPDNSDNSProvider(settings)
    }

    /// Returns the server's addresses. A name has those of `--bootstrap`, else the system resolver looks it up, as for dig.
    private func addresses(_ options: CommonOptions) async throws -> [HTTPDNSAddress] {
        var bootstraps = try FlagProviders.bootstraps(options.bootstraps)
        var addresses: [HTTPDNSAddress] = []
        switch server?.host {
        case .address(let address)?: addresses = [address]
        case .name(let name)?: addresses = bootstraps.removeValue(forKey: name) ?? []
        case nil: break
        }
        if let unused = bootstraps.keys.min() {
            throw CommandFailure.usage("--bootstrap \(unused): the server has another name")
        }
        guard addresses.isEmpty, case .name(let name)? = server?.host else { return addresses }
        do throws(SystemResolverError) {
            return try await SystemResolver().resolve(name, families: .both, timeLimit: timeLimit)
        } catch {
            throw CommandFailure.failed(
                code: "\(HTTPDNSClientError.Code.resolveFailed)",
                "cannot look up the server: \(error.message)",
                hint: "write @ADDRESS, or --bootstrap \(name)=ADDRESS",
                host: name.description
            )
        }
    }
}

extension HostArgument {
    /// The host as in a URL.
    fileprivate var bracketed: String {
        if case .address(let address) = host { address.bracketed } else { host.description }
    }
}
#endif
