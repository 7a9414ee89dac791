// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The core of the server, which answers requests from the present zone: without network and without waiting.
final class ServiceCore: Sendable {
    /// The reply to a request, its delay, and its record for the log.
    struct Outcome: Sendable {
        var reply: ServedReply
        var delay: Duration?
        var record: HTTPDNSProviderServer.Query
    }

    private let clock: WallClock
    private let zone: Lock<Zone>
    private let rotations = Rotations()

    init(_ zone: Zone, clock: WallClock) {
        self.zone = Lock(zone)
        self.clock = clock
    }

    /// Replaces the zone. Answers in progress are those of the previous one.
    func replace(with zone: Zone) { self.zone.withLock { $0 = zone } }

    /// Returns the reply to a request whose body is longer than any query, or incomplete. A truncated body is not parsed as a
    /// query.
    func outcome(ofUnread request: ServedRequest) -> Outcome {
        var record = HTTPDNSProviderServer.Query(milliseconds: clock.now(), client: request.client.map { "\($0)" })
        record.protocolName = ProtocolChoice.of(request)?.name ?? record.protocolName
        return Self.refused(record, 413, "ContentTooLarge", "the body is longer than that of any query, or broke off")
    }

    /// Returns a reply outside of all protocols.
    private static func refused(_ record: HTTPDNSProviderServer.Query, _ status: Int, _ word: String, _ advice: String)
        -> Outcome
    {
        var record = record
        record.outcome = word
        record.status = status
        record.advice = advice
        return Outcome(reply: ServedReply(status: status, text: "\(advice)\n"), record: record)
    }

    func outcome(of request: ServedRequest) -> Outcome {
        let now = clock.now()
        let record = HTTPDNSProviderServer.Query(milliseconds: now, client: request.client.map { "\($0)" })
        var inquiry = ServedQuery(
            zone: zone.withLock { $0 },
            rotations: rotations,
            seconds: now / 1000,
            record: record
        )
        guard let spoken = ProtocolChoice.of(request) else {
            return Self.refused(record, 404, "NotFound", "no protocol has this path")
        }
        inquiry.record.protocolName = spoken.name
        var reply: ServedReply
        do throws(Refusal) {
            reply = try spoken.reply(to: request, &inquiry)
            if let garbage = inquiry.fault.garbage {
                Garbage.spoil(&reply, garbage, isEncrypted: inquiry.record.encryption != nil)
                inquiry.record.outcome = "garbage-\(garbage.rawValue)"
            }
            if let cut = inquiry.fault.cut {
                reply.body = Array(reply.body.prefix(cut))
                inquiry.record.outcome = "cut-\(cut)"
            }
        } catch {
            reply = spoken.reply(to: error, inquiry)
            if error.status == 429 { reply.headerFields[.retryAfter] = "1" }
            inquiry.record.outcome = error.word
            inquiry.record.advice = error.advice
        }
        inquiry.record.status = reply.status
        inquiry.record.delay = inquiry.fault.delay
        return Outcome(reply: reply, delay: inquiry.fault.delay, record: inquiry.record)
    }
}

/// The choice of a request's protocol by its path.
enum ProtocolChoice {
    /// Returns the protocol; nil for a path of no protocol.
    static func of(_ request: ServedRequest) -> (any ServedProtocol)? {
        let segments = request.segments
        switch (segments.first, segments.dropFirst().first, segments.count) {
        case ("dns-query"?, nil, _): return speaksJSON(request) ? JSONDNS(shape: .cloudflare) : WireDNS()
        case ("resolve"?, nil, _): return JSONDNS(shape: isSigned(request) ? .alidns : .google)
        case ("d"?, nil, _): return TencentServed()
        case ("conf"?, nil, _): return TencentListServed()
        case ("alidns"?, "resolve"?, 2): return JSONDNS(shape: .alidns)
        case ("v2"?, "d"?, 2): return AlibabaV2Served()
        case (let account?, "ss"?, 2): return AlibabaScheduleServed(account: String(account))
        case (let account?, let command?, 2): return AlibabaV1Served(account: account, command: command)
        default: return nil
        }
    }

    /// Returns whether a request is for JSON: Cloudflare serves both protocols under one path.
    private static func speaksJSON(_ request: ServedRequest) -> Bool {
        if request.method == .get, request.headerFields[.accept]?.contains("application/dns-json") == true {
            return true
        }
        return (try? QueryParameters(request.query))?["ct"] == "application/dns-json"
    }

    /// Returns whether a request is signed: Alidns' paid service has the path of the free one.
    private static func isSigned(_ request: ServedRequest) -> Bool {
        guard let parameters = try? QueryParameters(request.query) else { return false }
        return ["uid", "ak", "key", "ts"].contains { parameters[$0] != nil }
    }
}

/// The injection of invalid content in place of a valid answer.
enum Garbage {
    private static let hugeOctets = 10_000_000
    private static let filling = [UInt8](repeating: UInt8(ascii: " "), count: hugeOctets)

    /// - Parameter isEncrypted: Whether the answer was encrypted: failures of its cipher are already applied.
    static func spoil(_ reply: inout ServedReply, _ garbage: ServeSettings.Garbage, isEncrypted: Bool) {
        switch garbage {
        case .html:
            reply = ServedReply(
                contentType: "text/html",
                body: Array("<!doctype html><title>Sign in</title><p>Please sign in to use this network.</p>".utf8)
            )
        case .noise:
            reply.body = (0..<max(64, reply.body.count)).map { _ in UInt8.random(in: .min ... .max) }
        case .huge:
            reply.body += filling.dropFirst(reply.body.count)
        case .half:
            reply.body.removeLast(reply.body.count / 2)
        case .cipher, .mode, .oddHex:
            if !isEncrypted { reply.body.removeLast(reply.body.count / 2) }
        }
    }
}
#endif
