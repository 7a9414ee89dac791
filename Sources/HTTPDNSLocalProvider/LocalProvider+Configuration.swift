#if LocalProvider
public import HTTPDNSCore
public import HTTPDNSPrimitives

extension LocalProvider {
    /// Where a provider listens, and what it serves.
    public struct Configuration: Sendable {
        /// Where the mappings come from.
        public struct Source: Sendable {
            enum Kind: Sendable {
                case file(String)
                case text(String, name: String)
            }

            let kind: Kind

            /// A configuration file or hosts file, read again whenever it has changed.
            public static func file(_ path: String) -> Source { Source(kind: .file(path)) }

            /// The text of one.
            /// - Parameters:
            ///   - text: What the file would say.
            ///   - name: What stands for the file in errors.
            public static func text(_ text: String, name: String = "the text") -> Source {
                Source(kind: .text(text, name: name))
            }
        }

        /// How the server proves who it is.
        public struct TLS: Sendable {
            enum Kind: Sendable {
                case generated(names: [String])
                case files(certificate: String, key: String)
            }

            let kind: Kind

            /// A certificate made at start, good for `localhost`, the address that is listened on, the loopback addresses,
            /// and these names. It is its own authority: see ``Listening/certificate``.
            public static func generated(names: [String] = []) -> TLS { TLS(kind: .generated(names: names)) }

            /// A certificate with its chain, and its key, both in PEM.
            public static func files(certificate: String, key: String) -> TLS {
                TLS(kind: .files(certificate: certificate, key: key))
            }
        }

        /// Where the mappings come from.
        public var source: Source
        /// The address to listen on. Another than a loopback one lets the network ask.
        public var address = HTTPDNSAddress(v4: 127, 0, 0, 1)
        /// The port; 0 takes one that is free.
        public var port: UInt16 = 0
        /// HTTPS, with HTTP/2 and HTTP/1.1; nil is HTTP/1.1 in clear.
        public var tls: TLS?
        /// How long queries under way may take to end.
        public var drainLimit: Duration = .seconds(10)
        /// Called with each query, once its answer is ready and before the file has it held back; from any task, and to
        /// return soon.
        public var onQuery: @Sendable (Query) -> Void = { _ in }
        /// Called when the file was read again: with nil when it is in use, and with what is wrong with it when the former
        /// one stays in use.
        public var onReload: @Sendable ((any Error)?) -> Void = { _ in }
        /// The clock that the times of signatures are checked by.
        public var clock: WallClock = .system

        /// Settings for loopback, a free port and no TLS.
        public init(_ source: Source) { self.source = source }
    }

    /// Where a provider listens.
    public struct Listening: Hashable, Sendable {
        /// The address.
        public let address: HTTPDNSAddress
        /// The port, also of one that was chosen by the system.
        public let port: UInt16
        /// `http://127.0.0.1:8053`, for the `url` of clients of vendors' protocols; those of DoH and JSON DNS have a path
        /// behind it.
        public let url: String
        /// The certificate in PEM; nil without TLS.
        public let certificate: String?
        /// How many mappings are served.
        public let ruleCount: Int
        /// The most private scope among the mappings' addresses when serving began: a client uses all of them when its
        /// settings for this provider have such `answers`. `HTTPDNSAddressPolicy.Scope.special` ones need an allowed block
        /// besides.
        public let answers: HTTPDNSAddressPolicy.Scope
    }
}
#endif
