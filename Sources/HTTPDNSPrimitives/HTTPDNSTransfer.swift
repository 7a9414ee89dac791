// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A namespace for the values of a transfer, which the client and its transport share.
///
/// The client has its own name for each, such as `HTTPDNSClient.Exchange.Timings`: use that one.
public enum HTTPDNSTransfer {}

extension HTTPDNSTransfer {
    /// The HTTP version of a response.
    public struct HTTPVersion: Hashable, Sendable, CustomStringConvertible {
        /// The name of the version, such as `HTTP/1.1` or `HTTP/2`.
        public let description: String

        /// HTTP/1.0.
        public static let http10 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.0")
        /// HTTP/1.1 (RFC 9112).
        public static let http11 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/1.1")
        /// HTTP/2 (RFC 9113).
        public static let http2 = HTTPDNSTransfer.HTTPVersion(description: "HTTP/2")
    }
}

extension HTTPDNSTransfer {
    /// The result of the TLS handshake of a connection.
    public struct TLSParameters: Hashable, Sendable, CustomStringConvertible {
        /// A class, because the value passes through many hands.
        private final class Names: Sendable {
            let version: String
            let cipherSuite: String

            init(_ version: String, _ cipherSuite: String) {
                self.version = version
                self.cipherSuite = cipherSuite
            }
        }

        private let names: Names

        /// The version as OpenSSL names it, such as `TLSv1.3`.
        public var version: String { names.version }
        /// The cipher suite as OpenSSL names it, such as `TLS_AES_256_GCM_SHA384`.
        public var cipherSuite: String { names.cipherSuite }
        /// The version and the cipher suite: `TLSv1.3 TLS_AES_256_GCM_SHA384`.
        public var description: String { "\(version) \(cipherSuite)" }

        /// Creates parameters, such as for a test.
        public init(version: String, cipherSuite: String) { names = Names(version, cipherSuite) }

        /// Returns whether both name the same version and cipher suite.
        public static func == (a: HTTPDNSTransfer.TLSParameters, b: HTTPDNSTransfer.TLSParameters) -> Bool {
            a.names === b.names || a.version == b.version && a.cipherSuite == b.cipherSuite
        }

        /// Hashes the version and the cipher suite.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(version)
            hasher.combine(cipherSuite)
        }
    }
}

extension HTTPDNSTransfer {
    /// The HTTP versions that a transfer may use.
    public struct AllowedVersions: Hashable, Sendable, CustomStringConvertible {
        /// The choices.
        package enum Kind: Hashable, Sendable {
            case automatic, http1Only, http10Only, http2Only
        }

        package let kind: Kind

        /// HTTP/2 if TLS negotiates it (ALPN), else HTTP/1.1. Clear-text requests use HTTP/1.1.
        public static let automatic = HTTPDNSTransfer.AllowedVersions(kind: .automatic)
        /// HTTP/1.1 only.
        public static let http1Only = HTTPDNSTransfer.AllowedVersions(kind: .http1Only)
        /// HTTP/1.0 only. It has no chunked coding: a body must have a known length. Connections serve one request each.
        public static let http10Only = HTTPDNSTransfer.AllowedVersions(kind: .http10Only)
        /// HTTP/2 only.
        ///
        /// Over TLS the server has to select it (ALPN), and no request is sent to a server that does not. A server of
        /// clear-text requests is assumed to support it (RFC 9113 section 3.3).
        public static let http2Only = HTTPDNSTransfer.AllowedVersions(kind: .http2Only)

        /// The name of the choice, such as `http1Only`.
        public var description: String { "\(kind)" }
    }
}

extension HTTPDNSTransfer {
    /// The connections that requests for one host to one endpoint share, and the number of these requests.
    public struct ConnectionPool: Hashable, Sendable {
        /// The host of the URL; an address without brackets.
        public var host: String
        /// The port of the URL.
        public var port: UInt16
        /// The address and port of the connections.
        public var endpoint: HTTPDNSEndpoint
        /// The number of open sockets: in use, idle, or being connected.
        public var connections: Int
        /// The number of these sockets that carry a request or are being connected for one. The others are idle.
        public var connectionsInUse: Int
        /// The number of requests sent there, repetitions and hedged requests included.
        public var requests: Int

        package init(
            host: String,
            port: UInt16,
            endpoint: HTTPDNSEndpoint,
            connections: Int,
            connectionsInUse: Int = 0,
            requests: Int
        ) {
            self.host = host
            self.port = port
            self.endpoint = endpoint
            self.connections = connections
            self.connectionsInUse = connectionsInUse
            self.requests = requests
        }
    }

    /// A connection that was established and has closed.
    package struct ClosedConnection: Hashable, Sendable {
        /// The time from the opening of its socket to the close.
        package var duration: Duration
        /// The HTTP version; nil when the connection closed before it was known.
        package var version: HTTPVersion?

        package init(duration: Duration, version: HTTPVersion?) {
            self.duration = duration
            self.version = version
        }
    }
}

extension HTTPDNSTransfer {
    /// The client's knowledge of an endpoint from connecting to it.
    public struct EndpointRecord: Hashable, Sendable {
        /// The state of an endpoint.
        public struct State: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier from a bounded set.
            public let description: String

            /// No failure is known.
            public static let healthy = State(description: "healthy")
            /// Connecting took longer than the delay of the race, or a kept connection stopped responding. The endpoint is
            /// tried last.
            public static let suspect = State(description: "suspect")
            /// Connecting works, but the responses were errors; see ``HTTPDNSTransfer/OutlierEjection``. The endpoint is tried
            /// after the others.
            public static let ejected = State(description: "ejected")
            /// Connecting failed. The endpoint is tried last, and concurrently with requests after the end of its cool-down.
            public static let cooling = State(description: "cooling")
        }

        /// The address and port.
        public var endpoint: HTTPDNSEndpoint
        /// The host whose TLS handshake failed there, or whose requests received error responses; nil for the endpoint as such.
        public var host: String?
        /// The state of the endpoint.
        public var state: State
        /// The number of failures to connect, or of error responses, since the last success.
        public var consecutiveFailures: Int
        /// The end of its cool-down or ejection, or the time at which a suspect is tried again.
        ///
        /// Nil for a healthy endpoint.
        public var until: ContinuousClock.Instant?
        /// The time at which a connection was last established; nil when none was since the last failure.
        public var connectedAt: ContinuousClock.Instant?
        /// The time to establish that connection, TLS included.
        public var connectTime: Duration?

        package init(
            endpoint: HTTPDNSEndpoint,
            host: String?,
            state: State,
            consecutiveFailures: Int,
            until: MonotonicTime? = nil,
            connectedAt: MonotonicTime? = nil,
            connectTime: Duration? = nil
        ) {
            self.endpoint = endpoint
            self.host = host
            self.state = state
            self.consecutiveFailures = consecutiveFailures
            self.until = until.map { .init($0) }
            self.connectedAt = connectedAt.map { .init($0) }
            self.connectTime = connectTime
        }
    }
}

extension HTTPDNSTransfer {
    /// The settings for the ejection of addresses that accept connections but answer with errors.
    ///
    /// An ejected address is tried last, as one that fails to connect is, and never left out: when all are ejected, all are
    /// used in their order. Statuses are counted for each address and host; any other status resets the count.
    public struct OutlierEjection: Hashable, Sendable {
        /// The statuses that count as errors.
        public var statuses: Set<Int> = [500, 502, 503, 504]
        /// The number of error statuses in a row that ejects an address, at least 1.
        public var consecutive = 5
        /// The duration of the first ejection, at least 1 s. Each further ejection lasts twice as long, until a response is no
        /// error.
        public var duration: Duration = .seconds(30)
        /// The maximum duration of an ejection.
        public var maximumDuration: Duration = .seconds(300)

        /// Creates the defaults.
        public init() {}
    }
}

extension HTTPDNSTransfer {
    /// The settings for connections that check addresses in advance, without a request.
    public struct ActiveProbing: Hashable, Sendable {
        /// The interval between connections to an address, less up to a quarter; at least 1 s.
        public var interval: Duration = .seconds(15)
        /// The maximum number of concurrent probe connections, at least 1.
        public var maximumConcurrent = 4

        /// Creates the defaults.
        public init() {}
    }
}

extension HTTPDNSTransfer {
    /// The settings of TCP keepalive (RFC 9293 section 3.8.4): the kernel probes a connection that carries no data, and closes
    /// it when its peer does not answer. Unix sockets have none.
    public struct TCPKeepalive: Hashable, Sendable {
        /// The time without data after which the kernel sends the first probe (TCP_KEEPIDLE): 1 s to 32,767 s, in whole
        /// seconds.
        public var idle: Duration = .seconds(30)
        /// The time between two probes (TCP_KEEPINTVL): 1 s to 32,767 s, in whole seconds.
        public var interval: Duration = .seconds(10)
        /// The number of unanswered probes after which the kernel closes the connection (TCP_KEEPCNT): 1 to 127.
        ///
        /// While a connection has a limit for unacknowledged bytes, that limit decides in place of this number
        /// (TCP_USER_TIMEOUT, tcp(7)). The default is that of Linux (`tcp_keepalive_probes`).
        public var count = 9
        /// Whether the kernel sends no probes.
        package private(set) var isOff = false

        /// Creates the defaults.
        public init() {}

        /// No probes.
        public static let off: HTTPDNSTransfer.TCPKeepalive = {
            var keepalive = HTTPDNSTransfer.TCPKeepalive()
            keepalive.isOff = true
            return keepalive
        }()

        /// The times that Linux accepts (`MAX_TCP_KEEPIDLE` and `MAX_TCP_KEEPINTVL` of its `tcp.h`).
        package static let times: ClosedRange<Duration> = .seconds(1)...(.seconds(32_767))
        /// The counts that Linux accepts (`MAX_TCP_KEEPCNT`).
        package static let counts = 1...127
    }
}

extension HTTPDNSTransfer {
    /// The local interface or address of connections.
    public enum LocalSource: Hashable, Sendable, CustomStringConvertible {
        /// A network interface, such as `eth0` (CURLOPT_INTERFACE with `if!`).
        case interface(String)
        /// An address of this machine. Endpoints of the other family cannot be reached from it.
        case address(HTTPDNSAddress)

        /// The interface's name, or the address.
        public var description: String {
            switch self {
            case .interface(let name): name
            case .address(let address): address.description
            }
        }
    }
}

extension HTTPDNSTransfer {
    /// The protocol of a proxy, which decides whether the client or the proxy looks names up.
    public enum ProxyKind: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// HTTP in clear text: CONNECT for https (RFC 9110 section 9.3.6), the whole URL as the request target for http.
        case http
        /// HTTP over TLS, used in the same way. The proxy's certificate must be valid for its name.
        case https
        /// SOCKS 4, which has IPv4 addresses only: the client looks names up.
        case socks4
        /// SOCKS 4 with names, which the proxy looks up.
        case socks4a
        /// SOCKS 5 (RFC 1928) with addresses: the client looks names up.
        case socks5
        /// SOCKS 5 with names, which the proxy looks up.
        case socks5h

        /// The URL scheme that curl uses for it.
        public var description: String { rawValue }

        /// Whether the proxy protocol is HTTP.
        package var isHTTP: Bool { self == .http || self == .https }
        /// Whether the protocol is used with addresses only.
        package var needsAddress: Bool { self == .socks4 || self == .socks5 }
    }
}

extension HTTPDNSTransfer {
    /// A certificate that a server presented.
    public struct PeerCertificate: Hashable, Sendable {
        /// The certificate in PEM.
        public let pem: String
        /// The subject, as OpenSSL writes a name: `CN = img.shop.example`. For display; it may contain any characters.
        public let subject: String
        /// The issuer, in the same form.
        public let issuer: String
        /// The start of its validity: `Nov 21 09:00:00 2026 GMT`.
        public let begins: String
        /// The end of its validity: `Nov 21 09:00:00 2027 GMT`.
        public let expires: String
        /// The alternative names of the subject, as OpenSSL writes them: `DNS:img.shop.example`. For display.
        public let names: [String]

        package init(
            pem: String,
            subject: String,
            issuer: String,
            begins: String = "",
            expires: String,
            names: [String] = []
        ) {
            self.begins = begins
            self.names = names
            self.pem = pem
            self.subject = subject
            self.issuer = issuer
            self.expires = expires
        }
    }
}

extension HTTPDNSTransfer {
    /// The durations of the phases of one transfer.
    ///
    /// A phase that did not happen is nil: a reused connection has neither `connect` nor `tls`.
    public struct Timings: Hashable, Sendable {
        /// From the start of the transfer until the start of the attempt that carried it; nil for the first attempt.
        public var race: Duration?
        /// From the start of the attempt until the TCP connection was established.
        public var connect: Duration?
        /// From the TCP connection until the end of the TLS handshake.
        public var tls: Duration?
        /// From the sending of the request until the first byte of the response.
        public var firstByte: Duration?
        /// From the start of the transfer until its last byte.
        public var total: Duration?

        /// Creates timings; an omitted phase did not happen.
        public init(
            race: Duration? = nil,
            connect: Duration? = nil,
            tls: Duration? = nil,
            firstByte: Duration? = nil,
            total: Duration? = nil
        ) {
            self.race = race
            self.connect = connect
            self.tls = tls
            self.firstByte = firstByte
            self.total = total
        }
    }
}
