// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
public import HTTPDNSCore
public import HTTPDNSPrimitives

extension HTTPDNSProviderServer {
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
            /// It is its own authority: see ``Listener/certificate``.
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
        package var clock: WallClock = .system

        /// Creates settings for loopback, a free port and no TLS.
        public init(_ source: Source) { self.source = source }
    }

    /// A listener of a provider: its address, port and URL, and what it serves.
    public struct Listener: Hashable, Sendable {
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
        /// A client uses all of them when its settings for this provider have such an `answerScope`. Addresses of
        /// `HTTPDNSAddressPolicy.Scope.special` need an allowed block as well.
        public let answerScope: HTTPDNSAddressPolicy.Scope
    }
}

extension HTTPDNSProviderServer {
    /// A query whose answer is ready, for logs and tests. It contains no secret, signature or cipher text.
    public struct Query: Hashable, Sendable {
        /// The arrival time, in milliseconds since 1970-01-01 00:00 UTC.
        public internal(set) var milliseconds: Int64
        /// The protocol: `doh`, `json-google`, `json-cloudflare`, `json-alidns`, `alibaba-v2`, `alibaba-v1`, `alibaba-ss`,
        /// `tencent`, `tencent-conf`; `-` for a path of no protocol.
        public internal(set) var protocolName = "-"
        /// The queried names; empty when the query was refused before they were read.
        public internal(set) var hosts: [String] = []
        /// The families, `v4`, `v6` or `v4,v6`; with `doh` and JSON DNS the record type.
        public internal(set) var families = "-"
        /// The source address of the query.
        public internal(set) var client: String?
        /// Whether it had a signature or a token.
        public internal(set) var isSigned = false
        /// The cipher, `cbc` or `gcm`; nil for clear text.
        public internal(set) var encryption: String?
        /// The HTTP status of the reply.
        public internal(set) var status = 200
        /// The outcome: `ok`, the vendor's error code, or the failure that the file injects, such as `status-503` or
        /// `garbage-html`.
        ///
        /// `ContentTooLarge` means a body that is longer than 65,535 bytes, or incomplete.
        public internal(set) var outcome = "ok"
        /// The expected form, for a query that was refused.
        public internal(set) var advice: String?
        /// The number of addresses in the answer.
        public internal(set) var addressCount = 0
        /// The delay from the file, which begins after this report.
        public internal(set) var delay: Duration?

        init(milliseconds: Int64, client: String?) {
            self.milliseconds = milliseconds
            self.client = client
        }
    }
}

/// An error that prevents a local provider from serving.
public struct HTTPDNSProviderServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let word: String

        /// The address and port cannot be listened on.
        public static let cannotListen = Code(word: "cannot-listen")
        /// The certificate or its key cannot be used.
        public static let badCertificate = Code(word: "bad-certificate")

        /// The code as text.
        public var description: String { word }
    }

    /// The kind of error, for programs.
    public let code: Code
    /// The mistake, and the suggested action.
    public let description: String

    init(_ code: Code, _ message: String) {
        self.code = code
        description = message
    }
}
#endif
