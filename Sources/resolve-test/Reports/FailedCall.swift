// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The calls of a client with their details, also of those that failed.
final class CallObserver: DetailedObserver {
    private let calls = Lock<[HTTPDNSClient.CallRecord]>([])

    /// The details have no bodies.
    var bodyLimit: Int? { 0 }
    func callEnded(_ call: HTTPDNSClient.CallRecord) { calls.withLock { $0.append(call) } }

    /// The last call that has ended; nil before.
    var last: HTTPDNSClient.CallRecord? { calls.withLock { $0.last } }

    /// The connection of each hop, in the order of the records.
    var connections: [TransferNotes.Attempt?] { calls.withLock { $0 }.flatMap { $0.hops.map(\.connection) } }

    /// Returns a request with its addresses in the order in which they were tried; unchanged when that is not known.
    func inOrderOfAttempts(
        _ request: HTTPDNSRewriter.RewrittenRequest,
        _ client: HTTPDNSClient
    ) -> HTTPDNSRewriter.RewrittenRequest {
        let hops = calls.withLock { $0 }.flatMap(\.hops)
        let hop = hops.last { hop in
            hop.rewritten?.canonicalURL == request.canonicalURL && hop.addresses.allSatisfy(request.addresses.contains)
        }
        guard let addresses = hop?.addresses, !addresses.isEmpty else { return request }
        return client.replacingAddresses(of: request, with: addresses)
    }
}

extension FetchReport {
    /// Creates the report on a call that failed, as far as it came. Nil when it was canceled, or nothing of it is known.
    init?(failed calls: CallObserver, received: Int, settings: ClientSettings, client: HTTPDNSClient) {
        guard let call = calls.last, let error = call.error else { return nil }
        let hops = call.hops.indices.compactMap { Hop(call, $0, settings, client) }
        self.init(
            hops: hops,
            bodyBytes: received,
            wireBytes: call.hops.last?.responseBodyBytes.map { Int($0) } ?? received,
            total: call.duration,
            providerKinds: settings.providerKinds,
            status: call.status?.code ?? 0,
            failed: Failed(phase: "\(error.phase)", elapsed: call.duration)
        )
    }
}

extension FetchReport.Hop {
    /// Creates nil for a hop that was answered in this process.
    fileprivate init?(
        _ call: HTTPDNSClient.CallRecord,
        _ index: Int,
        _ settings: ClientSettings,
        _ client: HTTPDNSClient
    ) {
        let hop = call.hops[index]
        guard !hop.isAnsweredInProcess, let rewrite = RewriteView(hop, client) else { return nil }
        self.init(rewrite, index, settings)
        let isLast = index == call.hops.count - 1
        let next =
            isLast
            ? hop.messages?.response?.headerFields.singleton(.location)?.uriReference
            : call.hops[index + 1].messages?.url
        (remote, reusedConnection) = (
            hop.exchange?.endpoint ?? hop.connection?.endpoint,
            hop.connection.map { !$0.opensConnection } ?? false
        )
        (version, tls) = (hop.exchange?.version.description ?? "", hop.exchange?.tls)
        status = hop.status?.code ?? 0
        if isLast { contentType = hop.messages?.response?.headerFields.singleton(.contentType)?.value }
        if FetchReport.redirects.contains(status) { location = next.map(RewriteView.redacted) }
        resolve = hop.exchange?.resolve ?? (rewrite.isUnresolved ? nil : rewrite.resolution.elapsed)
        timings = hop.timings
        if let error = hop.error {
            failed = .init(phase: "\(error.phase)", elapsed: Self.rest(of: hop.duration ?? .zero, hop, resolve))
        } else if isLast, let error = call.error, "\(error.phase)" == "body" {
            let offset = hop.start - call.start
            let untilHead = hop.duration ?? .zero
            failed = .init(phase: "body", elapsed: max(.zero, call.duration - offset - untilHead))
        }
    }

    /// Returns the part of a time that the phases of a hop do not account for: the time of the phase that failed.
    private static func rest(of time: Duration, _ hop: HTTPDNSClient.CallRecord.Hop, _ resolve: Duration?) -> Duration {
        let known = [resolve, hop.timings.race, hop.timings.connect, hop.timings.tls, hop.timings.firstByte]
        return max(.zero, time - known.compactMap(\.self).reduce(.zero, +))
    }
}

extension RewriteView {
    /// Whether the addresses of the host are not known.
    var isUnresolved: Bool { resolution.endpoints.isEmpty }

    /// Creates the view of a hop, whose name may have no addresses. Nil when its URL cannot be read.
    fileprivate init?(_ hop: HTTPDNSClient.CallRecord.Hop, _ client: HTTPDNSClient) {
        if let rewritten = hop.rewritten {
            let addresses = hop.addresses
            let request = addresses.isEmpty ? rewritten : client.replacingAddresses(of: rewritten, with: addresses)
            try? self.init(sent: request, by: client, answered: hop.connection?.endpoint)
        } else {
            guard let sent = hop.messages, let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(sent.url) else {
                return nil
            }
            let text = "\(url.scheme)://\(url.authority)\(url.target)"
            self.init(unresolved: text, host: url.authority, urlHost: "\(url.host)", urlPort: url.port)
        }
    }
}
