#if LocalProvider
public import HTTPDNSCore
public import HTTPDNSPrimitives

extension LocalProvider {
    /// The address that a local provider listens on, and the mappings that it serves.
    public struct Configuration: Sendable {
        /// The source of the mappings.
        public struct Source: Sendable {
            enum Kind: Sendable {
                case file(String)
                case text(String, name: String)
            }

            let kind: Kind

            /// Returns a source that reads a configuration file or hosts file, again whenever it changes.
            public static func file(_ path: String) -> Source { Source(kind: .file(path)) }

            /// Returns a source with the text of such a file.
            /// - Parameters:
            ///   - text: The content of the file.
            ///   - name: The name of the file in errors.
            public static func text(_ text: String, name: String = "the text") -> Source {
                Source(kind: .text(text, name: name))
            }
        }

        /// The certificate of the server.
        public struct TLS: Sendable {
            enum Kind: Sendable {
                case generated(names: [String])
                case files(certificate: String, key: String)
            }

            let kind: Kind

            /// Returns a certificate generated at start, valid for `localhost`, the address that is listened on, the loopback
            /// addresses, and these names.
            ///
            /// It is its own authority: see ``Listening/certificate``.
            public static func generated(names: [String] = []) -> TLS { TLS(kind: .generated(names: names)) }

            /// Returns a certificate with its chain, and its key, from two PEM files.
            public static func files(certificate: String, key: String) -> TLS {
                TLS(kind: .files(certificate: certificate, key: key))
            }
        }

        /// The source of the mappings.
        public var source: Source
        /// The address to listen on. An address other than loopback makes the provider reachable from the network.
        public var address = HTTPDNSAddress(v4: 127, 0, 0, 1)
        /// The port; 0 selects a free one.
        public var port: UInt16 = 0
        /// The certificate for HTTPS, with HTTP/2 and HTTP/1.1; nil means HTTP/1.1 in clear text.
        public var tls: TLS?
        /// The time that queries in flight may take to complete at the end.
        public var drainLimit: Duration = .seconds(10)
        /// A function that is called with each query, once its answer is ready and before the delay from the file.
        ///
        /// It is called from any task, and must return soon.
        public var onQuery: @Sendable (Query) -> Void = { _ in }
        /// A function that is called when the file was read again: with nil, or with the error while the previous content stays
        /// in use.
        public var onReload: @Sendable ((any Error)?) -> Void = { _ in }
        /// The clock for the times of signatures.
        public var clock: WallClock = .system

        /// Creates settings for loopback, a free port and no TLS.
        public init(_ source: Source) { self.source = source }
    }

    /// The address, port and URL of a listening provider.
    public struct Listening: Hashable, Sendable {
        /// The address.
        public let address: HTTPDNSAddress
        /// The port, also if the system selected it.
        public let port: UInt16
        /// The base URL, such as `http://127.0.0.1:8053`, for the `url` of clients of vendors' protocols.
        ///
        /// The URLs of DoH and JSON DNS have a path after it.
        public let url: String
        /// The certificate in PEM; nil without TLS.
        public let certificate: String?
        /// The number of mappings that are served.
        public let ruleCount: Int
        /// The most private scope among the mappings' addresses when serving began.
        ///
        /// A client uses all of them when its settings for this provider have such `answers`. Addresses of
        /// `HTTPDNSAddressPolicy.Scope.special` need an allowed block as well.
        public let answers: HTTPDNSAddressPolicy.Scope
    }
}
#endif
