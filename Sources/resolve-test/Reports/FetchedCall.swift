// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
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
}

extension FetchReport {
    /// Creates the report on a response whose body has been read.
    init(
        _ response: HTTPDNSClient.Response,
        of calls: CallObserver,
        received: Int,
        total: Duration,
        includesHead: Bool,
        settings: ClientSettings,
        client: HTTPDNSClient
    ) {
        let summary = response.body.summary
        self.init(
            hops: calls.last.map { Self.hops($0, settings, client) { $0.status != nil } } ?? [],
            bodyBytes: summary?.bodyBytes ?? received,
            wireBytes: summary?.wireBytes ?? received,
            total: total,
            headerFields: includesHead ? response.headerFields : nil,
            providerKinds: settings.providerKinds,
            status: response.status.code,
            cache: response.cacheSource.map { source in
                CacheView(
                    source: source.description,
                    age: response.headerFields.singleton(.age).flatMap { Int(digits: $0.value) }
                )
            },
            contentRange: response.headerFields.singleton(.contentRange)?.value
        )
    }

    /// Creates the report on a call that failed, as far as it came. Nil when it was canceled, or nothing of it is known.
    init?(failed calls: CallObserver, settings: ClientSettings, client: HTTPDNSClient) {
        guard let call = calls.last, let error = call.error else { return nil }
        let received = Int(call.bodyBytes)
        self.init(
            hops: Self.hops(call, settings, client),
            bodyBytes: received,
            wireBytes: call.hops.last?.responseBodyBytes.map { Int($0) } ?? received,
            total: call.duration,
            providerKinds: settings.providerKinds,
            status: call.status?.code ?? 0,
            failed: Failed(phase: "\(error.phase)", elapsed: call.duration)
        )
    }
}

extension FetchReport {
    private static func hops(
        _ call: HTTPDNSClient.CallRecord,
        _ settings: ClientSettings,
        _ client: HTTPDNSClient,
        where isShown: (HTTPDNSClient.CallRecord.Hop) -> Bool = { _ in true }
    ) -> [Hop] {
        let afterGap = call.hops.indices.dropFirst().first { call.hops[$0].number > call.hops[$0 - 1].number + 1 }
        var leftOut = call.hopsLeftOut
        return call.hops.indices.filter { isShown(call.hops[$0]) }
            .compactMap { index in
                guard var hop = Hop(call, index, settings, client) else { return nil }
                if let afterGap, index >= afterGap { (hop.leftOut, leftOut) = (leftOut, 0) }
                return hop
            }
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
        let trust = settings.configuration.trust(forHost: rewrite.serverName ?? rewrite.urlHost)
        self.init(rewrite: rewrite, isVerified: trust.verification == .chainAndName)
        // The first URL is the user's own. The others are those of servers.
        if index > 0 { self.rewrite.redactURLs() }
        let isLast = index == call.hops.count - 1
        let isFollowed = !isLast && call.hops[index + 1].number <= hop.number + 1
        let next =
            isFollowed
            ? call.hops[index + 1].messages?.url
            : hop.messages?.response?.headerFields.singleton(.location)?.uriReference
        remote = hop.exchange?.remote ?? hop.connection?.endpoint
        reusedConnection = hop.exchange?.reusedConnection ?? hop.connection.map { !$0.opensConnection } ?? false
        (version, tls) = (hop.exchange?.version.description ?? "", hop.exchange?.tls)
        status = hop.status?.code ?? 0
        if isLast { contentType = hop.messages?.response?.headerFields.singleton(.contentType)?.value }
        if FetchReport.redirects.contains(status) { location = next.map(RewriteView.redacted) }
        let isKnown = call.error == nil || rewrite.isUnresolved
        resolve = hop.exchange?.resolve ?? (isKnown ? nil : rewrite.resolution.elapsed)
        droppedFields = hop.exchange?.droppedFields.map(\.rawName) ?? []
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
#endif
