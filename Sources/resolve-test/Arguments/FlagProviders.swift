// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl

/// The providers of `--doh` and `--public`, and the route that leads to them.
struct FlagProviders {
    /// Two public services by address literal: their certificates contain these addresses, so that no name is looked up
    /// (developers.cloudflare.com/1.1.1.1 and developers.google.com/speed/public-dns, "DNS over HTTPS").
    static let publicServices = [
        (name: "cloudflare", url: "https://1.1.1.1/dns-query"),
        (name: "google", url: "https://8.8.8.8/dns-query"),
    ]

    private(set) var providers: [any HTTPDNSProvider] = []
    /// The given flags, as the location of the route.
    private let flags: String

    var isEmpty: Bool { providers.isEmpty }

    /// - Parameter taken: The names of the configuration file's providers.
    init(_ options: CommonOptions, taken: Set<String>) throws {
        flags = [options.dohURLs.isEmpty ? nil : "--doh", options.usesPublicProviders ? "--public" : nil]
            .compactMap { $0 }.joined(separator: ", ")
        var taken = taken
        var bootstraps = try Self.bootstraps(options.bootstraps)
        var used: Set<HTTPDNSName> = []
        for url in options.dohURLs {
            var settings = HTTPDNSDoHProvider.Configuration(name: Self.freeName("doh", &taken), url: url)
            if let host = try Self.host(of: url) {
                guard let addresses = bootstraps[host] else {
                    throw CommandFailure.usage(
                        "--doh \(url): \(host) has no bootstrap address, and this name is never looked up",
                        hint: "add --bootstrap \(host)=ADDRESS, or use a URL with an address"
                    )
                }
                settings.bootstrap = addresses
                used.insert(host)
            }
            try append(settings, options)
        }
        used.forEach { bootstraps[$0] = nil }
        if let unused = bootstraps.keys.min() {
            throw CommandFailure.usage("--bootstrap \(unused): no --doh URL has this host")
        }
        guard options.usesPublicProviders else { return }
        for service in Self.publicServices {
            try append(
                HTTPDNSDoHProvider.Configuration(name: Self.freeName(service.name, &taken), url: service.url),
                options
            )
        }
    }

    /// Adds the providers with the route `*`: every name except the internal ones that no other route covers.
    func apply(to resolver: inout HTTPDNSResolver.Configuration) {
        guard !isEmpty else { return }
        resolver.providers += providers
        resolver.routes.removeAll { $0.pattern == .any }
        resolver.routes.append(
            HTTPDNSRoute(
                .any,
                .providers(providers.map(\.name), fallback: .off),
                location: HTTPDNSSourceLocation(file: flags)
            )
        )
    }

    private mutating func append(_ settings: HTTPDNSDoHProvider.Configuration, _ options: CommonOptions) throws {
        var settings = settings
        settings.answerScope = options.answerScope.scope
        if let path = options.certificateAuthorityFile { settings.trustRoots = .file(path) }
        do {
            providers.append(try HTTPDNSDoHProvider(settings))
        } catch {
            throw CommandFailure.usage("--doh \(settings.url): \(error.message)")
        }
    }

    static func bootstraps(_ texts: [String]) throws(CommandFailure) -> [HTTPDNSName: [HTTPDNSAddress]] {
        var addresses: [HTTPDNSName: [HTTPDNSAddress]] = [:]
        for text in texts {
            let argument = try BootstrapArgument(text)
            addresses[argument.host, default: []] += argument.addresses
        }
        return addresses
    }

    /// Returns the name in a URL; nil for an address.
    private static func host(of url: String) throws(CommandFailure) -> HTTPDNSName? {
        do {
            guard case .name(let name) = try ParsedURL(url).host else { return nil }
            return try HTTPDNSName(name)
        } catch {
            throw .usage("--doh \"\(url)\": \(error)", hint: "write an https URL such as https://doh.example/dns-query")
        }
    }

    private static func freeName(_ wish: String, _ taken: inout Set<String>) -> String {
        var name = wish
        var number = 2
        while !taken.insert(name).inserted {
            name = "\(wish)-\(number)"
            number += 1
        }
        return name
    }
}

/// The value of `--bootstrap`: addresses of the host in a `--doh` URL.
struct BootstrapArgument: Sendable {
    let host: HTTPDNSName
    let addresses: [HTTPDNSAddress]

    init(_ text: String) throws(CommandFailure) {
        let form = "write --bootstrap HOST=ADDRESS, such as --bootstrap doh.example=192.0.2.53"
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else {
            throw .usage("--bootstrap \"\(text)\" is not a host and its address", hint: form)
        }
        do {
            host = try HTTPDNSName(String(parts[0]))
        } catch {
            throw .usage("--bootstrap \"\(text)\": \(error)", hint: form)
        }
        addresses = try parts[1].split(separator: ",", omittingEmptySubsequences: false).map {
            part throws(CommandFailure) in
            let literal = part.hasPrefix("[") && part.hasSuffix("]") ? part.dropFirst().dropLast() : part
            guard let address = HTTPDNSAddress(String(literal)) else {
                throw .usage("--bootstrap \"\(text)\": \"\(part)\" is not an IPv4 or IPv6 address", hint: form)
            }
            return address
        }
    }
}
#endif
