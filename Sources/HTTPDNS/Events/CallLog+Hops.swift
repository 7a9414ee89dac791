// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// The parts of a log of a call that become its record.

extension CallLog {
    /// One sending of a hop, or a hop without any.
    struct Sending {
        var hop: Hop
        /// The notes of the transfers that it led to.
        var notes: [TransferNotes] = []
        /// The number of transfers whose connections have made events.
        var reported = 0
        /// The addresses of its last event ``Event/Kind/resolved``, and their source.
        var addresses: [HTTPDNSEndpoint]?
        var source: HTTPDNSResolver.Resolution.Source?
        /// The last rewritten request.
        var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The request and the response head; nil without details.
        var request: CallDetails.SentRequest?
        var response: HTTPResponse?
    }

    /// The facts of a request that may be kept.
    struct RequestFacts {
        let method: HTTPRequest.Method
        let url: String

        init(_ request: HTTPDNSClient.Request) {
            method = request.method
            url =
                if let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url) {
                    "\(url.scheme)://\(url.authority)\(Redactor.standard.path(String(url.target.prefix { $0 != "?" })))"
                        .escaped(limit: 120)
                } else {
                    URLText.forErrors(request.url)
                }
        }

        init(method: HTTPRequest.Method, url: String) { (self.method, self.url) = (method, url) }
    }
}

extension HTTPDNSClient.CallRecord.Hop {
    mutating func take(_ exchange: HTTPDNSClient.Exchange) {
        destination = HTTPDNSClient.Response.Destination(exchange, exchange.cacheSource)
        attempts = exchange.failedAttempts
        status = exchange.status
        cacheSource = exchange.cacheSource
        version = exchange.version
        tls = exchange.tls
        resolve = exchange.resolve
        timings = exchange.timings
        isHedged = exchange.isHedged
    }
}

extension CallLog.Sending {
    /// The local end of the connection of the attempt that got the response, or of the last one.
    var localEndpoint: HTTPDNSEndpoint? {
        let attempts = notes.flatMap(\.attempts)
        return (attempts.last { $0.responseHeadBytes > 0 } ?? attempts.last)?.localEndpoint
    }

    /// Adds the bytes and times that the loop has noted.
    mutating func addBytes() {
        let attempts = notes.flatMap(\.attempts)
        guard !attempts.isEmpty else { return }
        hop.requestHeadBytes = attempts.reduce(0) { $0 + Int64($1.requestHeadBytes) }
        hop.requestBodyBytes = attempts.reduce(0) { $0 + Int64($1.requestBodyBytes) }
        hop.responseHeadBytes = attempts.reduce(0) { $0 + Int64($1.responseHeadBytes) }
        hop.responseBodyBytes = attempts.reduce(0) { $0 + Int64($1.responseBodyBytes) }
        if let last = attempts.last(where: { $0.responseHeadBytes > 0 }) ?? attempts.last { hop.timings = last.timings }
    }
    /// Returns the addresses in the order of the attempts. The order of a proxy's own addresses is another one.
    var addressesInOrder: [HTTPDNSEndpoint] {
        let given = addresses ?? []
        let order = notes.last?.endpointsInOrder ?? []
        return !order.isEmpty && order.allSatisfy(given.contains) ? order : given
    }

    /// The connection of the last attempt that had one.
    var connection: CallDetails.Connection? {
        let attempt = notes.flatMap(\.attempts).last { $0.sentAt != nil || ![.connect, .queue].contains($0.phase) }
        return attempt.map { attempt in
            CallDetails.Connection(
                endpoint: attempt.endpoint,
                isReused: !attempt.opensConnection,
                tls: attempt.tls,
                peerCertificates: attempt.peerCertificates
            )
        }
    }
}
