// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSPrimitives
package import HTTPTypes

/// The parts of a call that its record leaves out, because they may have secrets: requests, response heads and bodies.
///
/// Only recorders of this package get them, see ``HTTPDNSClient/recordCalls(bodyLimit:_:)``. Such a recorder redacts them before
/// it stores or prints anything.
package struct CallDetails: Sendable {
    /// The details of one hop of ``HTTPDNSClient/CallRecord/hops``.
    package struct Hop: Sendable {
        /// The request as it was sent.
        package var request: SentRequest
        /// The response head as the steps inside the call returned it; nil without a response.
        package var response: HTTPResponse?
        /// The rewritten request with the addresses of the last attempts; nil for a hop that was not rewritten.
        package var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The source of the addresses; nil for a hop that was not resolved.
        package var source: HTTPDNSResolver.Resolution.Source?
        /// The addresses and ports in the order of the attempts: that of the transport once it has begun.
        package var addresses: [HTTPDNSEndpoint]
        /// The address and port of this machine on the connection; nil for a hop without one.
        package var localEndpoint: HTTPDNSEndpoint?
        /// The connection of the last attempt; nil when no connection was made or found.
        package var connection: Connection?
    }

    /// A connection that a hop used, also one without a response.
    package struct Connection: Sendable {
        package var endpoint: HTTPDNSEndpoint
        /// Whether it had been used before.
        package var isReused: Bool
        /// The result of the TLS handshake; nil in clear text.
        package var tls: HTTPDNSClient.Exchange.TLSParameters?
        /// The certificates of the server, if they are kept.
        package var peerCertificates: [HTTPDNSClient.Exchange.PeerCertificate]
    }

    /// The parts of a request of a hop. A copy of a whole request would cost four times as much.
    package struct SentRequest: Sendable {
        package var url: String
        /// The fields without those that the transport adds.
        package var headerFields: HTTPFields
        /// The body, which an interceptor may have changed.
        package var body: HTTPDNSClient.Request.Body
        private let decodesBody: Bool

        init(_ request: HTTPDNSClient.Request) {
            url = request.url
            headerFields = request.headerFields
            body = request.body
            decodesBody = request.own?.options.decodesBody != false
        }

        /// Whether the client decodes the content coding of the response.
        package var isDecoded: Bool { decodesBody && !headerFields.contains(.range) }
    }

    /// The caller's request.
    package var request: HTTPDNSClient.Request
    /// The details of the hops, in the order of the record.
    package var hops: [Hop] = []
    /// The response head that the caller got; nil when there was none.
    package var response: HTTPResponse?
    /// The first bytes of the body that the caller read, at most as many as the recorders ask for.
    package var bodyStart: [UInt8] = []

    init(request: HTTPDNSClient.Request) { self.request = request }
}

extension HTTPDNSClient.Request.Body {
    /// Returns the first bytes of the body before compression, as far as they are in memory; nil for a stream.
    package func startInMemory(upTo limit: Int) -> [UInt8]? {
        switch content {
        case .none: return []
        case .bytes(let bytes): return Array(bytes.prefix(limit))
        case .stream: return nil
        case .pieces(let pieces):
            var start: [UInt8] = []
            for piece in pieces {
                guard case .bytes(let bytes) = piece, start.count < limit else { break }
                start += bytes.prefix(limit - start.count)
            }
            return start
        }
    }
}
