#if LocalProvider
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Answers requests from the zone as it is: without network and without waiting.
final class ServiceCore: Sendable {
    /// What is sent for a request, when, and what is logged of it.
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

    /// From now on another zone is served. Answers under way are those of the former.
    func replace(with zone: Zone) { self.zone.withLock { $0 = zone } }

    func outcome(of request: ServedRequest) -> Outcome {
        let now = clock.now()
        let record = LocalProvider.Query(milliseconds: now, client: request.client.map { "\($0)" })
        var inquiry = Inquiry(
            zone: zone.withLock { $0 },
            rotations: rotations,
            seconds: now / 1000,
            record: record
        )
        guard let spoken = ProtocolChoice.of(request) else {
            inquiry.record.outcome = "NotFound"
            inquiry.record.status = 404
            inquiry.record.advice = "no protocol has this path"
            return Outcome(reply: ServedReply(status: 404, text: "no protocol has this path\n"), record: inquiry.record)
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
