// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The scheme, host and port of a URL (RFC 9110 section 4.3.1): the scope of a secret.
    public struct Origin: Hashable, Sendable, CustomStringConvertible {
        private let scheme: ParsedURL.Scheme
        private let host: ParsedURL.Host
        private let port: UInt16

        /// Creates the origin of an absolute http or https URL, in any spelling; `nil` for any other text.
        public init?(_ url: String) {
            guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(url) else { return nil }
            self.init(url.parsed)
        }

        init(_ url: ParsedURL) {
            scheme = url.scheme
            host = url.host
            port = url.port
        }

        /// The canonical form, such as `https://img.shop.example` or `http://one.test:8080`. A default port is left out.
        public var description: String {
            let name =
                switch host {
                case .name(let name): name
                case .address(let address): address.bracketed
                }
            return "\(scheme)://\(name)" + (port == scheme.defaultPort ? "" : ":\(port)")
        }
    }
}
