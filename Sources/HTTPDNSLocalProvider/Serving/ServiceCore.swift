#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The core of the server, which answers requests from the present zone: without network and without waiting.
final class ServiceCore: Sendable {
    /// The reply to a request, its delay, and its record for the log.
    struct Outcome: Sendable {
        var reply: ServedReply
        var delay: Duration?
        var record: LocalProvider.Query
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
        var record = LocalProvider.Query(milliseconds: clock.now(), client: request.client.map { "\($0)" })
        record.protocolName = ProtocolChoice.of(request)?.name ?? record.protocolName
        return Self.refused(record, 413, "ContentTooLarge", "the body is longer than that of any query, or broke off")
    }

    /// Returns a reply outside of all protocols.
    private static func refused(_ record: LocalProvider.Query, _ status: Int, _ word: String, _ advice: String)
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
        let record = LocalProvider.Query(milliseconds: now, client: request.client.map { "\($0)" })
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
#endif
