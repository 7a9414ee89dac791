// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient {
    /// A network interceptor that ends loops of forwarders by the field `CDN-Loop` (RFC 8586).
    ///
    /// It is for a service that receives requests and sends them on with a client, such as a gateway. No client has it by
    /// default. The service copies the field `CDN-Loop` from each request that it receives to the one that it sends.
    /// This interceptor appends the service's identifier to the field. A request whose field already has that identifier
    /// more than `limit` times has come back: it fails with ``HTTPDNSClientError/Code/loop``, and nothing is sent.
    ///
    /// ```swift
    /// configuration.networkInterceptors = [try HTTPDNSClient.CDNLoop(id: "gateway-1.example")]
    /// ```
    ///
    /// The values of other forwarders are not changed (RFC 8586 section 2). Each hop and each retry of a call gets the
    /// identifier once.
    public struct CDNLoop: HTTPDNSClient.Interceptor {
        /// The identifier of the service.
        public let id: String
        /// The number of times that a request may have passed the service before.
        public let limit: Int

        /// Creates an interceptor.
        /// - Parameters:
        ///   - id: The identifier, equal in all processes of the service and in no other service: a host with an optional
        ///     port, or a pseudonym (RFC 8586 section 2). The case of its letters does not matter.
        ///   - limit: The number of times that a request may have passed the service before, at least 0. More than 0 is
        ///     for a service that forwards to itself on purpose.
        /// - Throws: ``HTTPDNSClientError`` with code `configuration` for another identifier or a negative limit.
        public init(id: String, limit: Int = 0) throws {
            guard !id.isEmpty, id.utf8.count <= 253, id.utf8.allSatisfy(CDNLoop.isAllowed) else {
                throw HTTPDNSClientError.configuration(
                    "CDN-Loop: \"\(id.escaped(limit: 80))\" is not an identifier",
                    hint:
                        "it is a host with an optional port, or a word of letters, digits and -._ (RFC 8586 section 2)"
                )
            }
            guard limit >= 0 else {
                throw HTTPDNSClientError.configuration("CDN-Loop: the limit is \(limit)", hint: "0 is the least")
            }
            self.id = id
            self.limit = limit
        }

        /// Sends the request with the identifier appended to its field.
        /// - Throws: ``HTTPDNSClientError`` with code `loop`; the errors of `next`.
        public func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            guard let name = CDNLoop.field else { return try await next(request, context) }
            let values = request.headerFields[values: name]
            let count = values.reduce(0) { $0 + occurrences(in: $1) }
            guard count <= limit else { throw comesBack(request, count) }
            var request = request
            request.headerFields[name] = (values.filter { !$0.isEmpty } + [id]).joined(separator: ", ")
            return try await next(request, context)
        }

        private static let field = HTTPField.Name("CDN-Loop")

        /// Whether a host, a port or a token has the byte (RFC 3986 section 3.2.2, RFC 9110 section 5.6.2).
        private static func isAllowed(_ byte: UInt8) -> Bool {
            byte.isLetterOrDigit(or: "!#$%&'*+-.^_`|~:[]")
        }

        /// Returns the number of elements of a list that have the identifier. Parameters follow an identifier after a
        /// semicolon (RFC 8586 section 2). Commas in quoted parameters are not told apart: a quote without an end would
        /// otherwise hide all identifiers behind it.
        private func occurrences(in value: String) -> Int {
            value.listElements.count { element in
                let found = element.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
                return found.lowercased() == id.lowercased()
            }
        }

        private func comesBack(_ request: HTTPDNSClient.Request, _ count: Int) -> HTTPDNSClientError {
            let host = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url))?.host.description
            return HTTPDNSClientError(
                code: .loop,
                phase: .interceptor,
                message:
                    "a request\(host.map { " to \($0)" } ?? "") comes back: it has passed \(id) \(count) times before,"
                    + " and \(limit) is the limit",
                host: host,
                hint:
                    "a server behind \(host ?? "the URL") forwards to this service; CDN-Loop names all of them in order"
            )
        }
    }
}
