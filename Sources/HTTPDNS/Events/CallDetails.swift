// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSCurl
package import HTTPDNSPrimitives
package import HTTPTypes

/// The parts of a call that may have secrets: requests, response heads and bodies.
///
/// Only observers of this package get them, see ``DetailedObserver``. Such an observer redacts them before it stores or prints
/// anything. A reflection of a record shows none of them.
package final class CallDetails: Sendable, CustomReflectable {
    /// The details of one hop of ``HTTPDNSClient/CallRecord/hops``.
    package struct Hop: Sendable {
        /// The request as it was sent.
        package let request: SentRequest
        /// The response head as the steps inside the call returned it; nil without a response.
        package internal(set) var response: HTTPResponse?
        /// The rewritten request with the addresses of the last attempts; nil for a hop that was not rewritten.
        package internal(set) var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The addresses that were resolved last, and their source; nil for a hop that was not resolved.
        var resolved: (source: HTTPDNSResolver.Resolution.Source, addresses: [HTTPDNSEndpoint])?
        /// The notes of the transfers that it led to.
        var notes: [TransferNotes] = []

        init(_ request: HTTPDNSClient.Request) { self.request = SentRequest(request) }

        /// The attempts at endpoints of all transfers.
        var attempts: [TransferNotes.Attempt] { notes.flatMap(\.attempts) }
        /// The attempt that got the response, or the last one.
        var lastAttempt: TransferNotes.Attempt? {
            let attempts = attempts
            return attempts.last { $0.responseHeadBytes > 0 } ?? attempts.last
        }

        /// The source of the addresses; nil for a hop that was not resolved.
        package var source: HTTPDNSResolver.Resolution.Source? { resolved?.source }
        /// The addresses and ports in the order of the attempts: that of the transport once it has begun.
        package var addresses: [HTTPDNSEndpoint] {
            let given = resolved?.addresses ?? []
            let order = notes.last?.endpointsInOrder ?? []
            // The order of a proxy's own addresses is another one.
            return !order.isEmpty && order.allSatisfy(given.contains) ? order : given
        }
        /// The address and port of this machine on the connection; nil for a hop without one.
        package var localEndpoint: HTTPDNSEndpoint? { lastAttempt?.localEndpoint }
        /// The last attempt that had a connection, also one without a response; nil when no connection was made or found.
        package var connection: TransferNotes.Attempt? {
            attempts.last { $0.sentAt != nil || ![.connect, .queue].contains($0.phase) }
        }
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
    package let request: HTTPDNSClient.Request
    /// The resolver of the client, which knows the routes of hosts; nil in tests.
    package let resolver: HTTPDNSResolver?
    /// The details of the hops, in the order of the record.
    package let hops: [Hop]
    /// The response head that the caller got; nil when there was none.
    package let response: HTTPResponse?
    /// The first bytes of the body that the caller read, at most as many as the observers ask for.
    package let bodyStart: [UInt8]

    init(
        _ request: HTTPDNSClient.Request,
        _ resolver: HTTPDNSResolver?,
        _ hops: [Hop],
        _ response: HTTPResponse?,
        bodyStart: [UInt8]
    ) {
        self.request = request
        self.resolver = resolver
        self.hops = hops
        self.response = response
        self.bodyStart = bodyStart
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
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
