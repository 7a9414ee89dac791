// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The path on which a hop leaves the machine.
package enum EgressChoice: Sendable {
    /// A direct connection to the addresses of the host.
    case direct
    /// A connection through a proxy.
    case proxy(HTTPDNSClient.Proxy)
    /// A connection to a Unix socket, by its path.
    case unixSocket(String)

    package var proxy: HTTPDNSClient.Proxy? { if case .proxy(let proxy) = self { proxy } else { nil } }
}

/// The selector of a hop's egress path, from its URL, its options and the client's settings.
final class EgressSelector: Sendable {
    let rules: HTTPDNSClient.Proxy.Rules
    private let environment: ProxyEnvironment
    let unixSocket: String?
    /// The interface or address that all connections are bound to.
    let source: HTTPDNSClient.Configuration.LocalSource?
    /// Whether every hop without options of its own is direct.
    private let isPlain: Bool
    /// The egress settings of every direct hop.
    let directPath: EgressPath?
    /// The address of each proxy that is tried first: the last one that accepted a connection, or the next one if that
    /// has failed since.
    private let fronts = Lock<[HTTPDNSHost: HTTPDNSAddress]>([:])

    /// The maximum number of remembered proxies. A client with more of them, set by requests, forgets all.
    private static let maximumRemembered = 64

    init(_ configuration: HTTPDNSClient.Configuration) {
        rules = configuration.proxy
        environment = ProxyEnvironment(configuration.environment)
        unixSocket = configuration.unixSocket
        source = configuration.localSource
        isPlain = rules == .off && unixSocket == nil
        directPath = source.map { EgressPath(source: $0) }
    }

    /// Whether a hop is direct, as far as that is known without its URL.
    func isDirect(_ request: borrowing HTTPDNSClient.Request) -> Bool {
        guard isPlain else { return false }
        guard let own = request.own else { return true }
        return own.shared.proxy == .off && own.shared.unixSocket == nil
    }

    /// Returns the path of the Unix socket that a hop goes to; nil for none. A call's proxy takes the place of the client's.
    func socket(of request: HTTPDNSClient.Request) -> String? {
        guard let options = request.own?.shared else { return unixSocket }
        return options.unixSocket == unixSocket && options.proxy != rules ? nil : options.unixSocket
    }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration` or `invalidRequest`.
    func choice(of request: HTTPDNSClient.Request, for url: HTTPDNSRewriter.CanonicalURL) throws(HTTPDNSClientError)
        -> EgressChoice
    {
        if isDirect(request) { return .direct }
        let rulesOfCall = request.own?.shared.proxy ?? rules
        if let path = socket(of: request) {
            if let fault = UnixSocketPath.fault(in: path) {
                throw HTTPDNSClientError(code: .invalidRequest, phase: .request, message: fault)
            }
            return .unixSocket(path)
        }
        switch rulesOfCall.content {
        case .off: return .direct
        case .through(let proxy, let exceptions):
            // The client's own proxy was validated when the client was made.
            if rulesOfCall != rules, let fault = proxy.fault {
                throw HTTPDNSClientError(code: .invalidRequest, phase: .request, message: fault)
            }
            return exceptions.contains(url.host, port: url.port) ? .direct : .proxy(proxy)
        case .environment:
            // A tunnel for another protocol, TLS for the most part, goes where requests over TLS go.
            let usesTLS = url.scheme == "https" || request.handedSocket != nil
            return try environment.proxy(for: url, usesTLS: usesTLS).map { .proxy($0) } ?? .direct
        }
    }

    // MARK: the addresses of a proxy

    /// Returns the addresses, rotated so that the preferred one is first. Each address gets its turn, however many of
    /// them fail.
    func ordered(_ endpoints: [HTTPDNSEndpoint], of proxy: HTTPDNSClient.Proxy) -> [HTTPDNSEndpoint] {
        guard endpoints.count > 1, let front = fronts.withLock({ $0[proxy.host] }),
            let index = endpoints.firstIndex(where: { $0.address == front })
        else { return endpoints }
        return Array(endpoints[index...] + endpoints[..<index])
    }

    /// Makes an address of the proxy the first to try: it worked, or the one before it failed.
    func prefer(_ endpoint: HTTPDNSEndpoint, of proxy: HTTPDNSClient.Proxy) {
        fronts.withLock { fronts in
            guard fronts[proxy.host] != endpoint.address else { return }
            if fronts.count >= EgressSelector.maximumRemembered { fronts.removeAll() }
            fronts[proxy.host] = endpoint.address
        }
    }
}

/// The rules for paths of Unix sockets.
enum UnixSocketPath {
    /// The maximum length: `sun_path` has 108 bytes on Linux, including the terminating NUL.
    private static let maximumBytes = 107

    static func fault(in path: String) -> String? {
        guard !path.isEmpty, !path.utf8.contains(0) else { return "the path of the Unix socket is empty or has a NUL" }
        guard path.utf8.count <= maximumBytes else {
            return "the path of the Unix socket has \(path.utf8.count) bytes, and the system takes \(maximumBytes)"
        }
        return nil
    }
}

extension EgressSelector {
    /// Linux has 16 bytes for the name of an interface, including the terminating NUL (IFNAMSIZ).
    private static let longestInterfaceName = 15

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    static func validate(_ configuration: HTTPDNSClient.Configuration) throws(HTTPDNSClientError) {
        let options = configuration.options
        try options.proxy.validate(configuration.environment)
        if let path = options.unixSocket, let fault = UnixSocketPath.fault(in: path) { throw .configuration(fault) }
        guard options.unixSocket == nil || options.proxy == .off else {
            throw .configuration(
                "unixSocket and proxy are both set, and nothing goes through a proxy to a Unix socket",
                hint: "set one of them; a call can change both"
            )
        }
        if case .interface(let name) = configuration.localSource {
            let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
            guard isName, name.utf8.count <= longestInterfaceName else {
                throw .configuration("localSource: \"\(name.escaped(limit: 40))\" is no name of a network interface")
            }
        }
    }
}
