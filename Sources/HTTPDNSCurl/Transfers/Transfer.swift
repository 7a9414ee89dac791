internal import HTTPDNSPrimitives
internal import Synchronization

/// One transfer, as its caller and its loop share it.
///
/// Safe to share: `request`, `mailbox`, `upload` and `group` never change, `response` is behind its lock, `isCancelled` and
/// `wasCut` are atomic, `groupIndex` and `cohort` are read and written under the group's lock only, `handle`, `race`, `sendings`,
/// `hedges` and `isProbe` on the loop's thread only.
final class Transfer: @unchecked Sendable {
    /// How many bytes of a body may wait for the caller before the loop stops reading. Four chunks of 64 KiB keep a reader
    /// busy while the next ones travel.
    static let window = 256 * 1024

    let request: TransferRequest
    /// Facts of the request that the loop looks at again and again; kept apart so that it never copies the request.
    let hasBody: Bool
    let hasBytesToSend: Bool
    let mayBeSentTwice: Bool
    let order: EndpointOrder
    /// How long it may be without an answer before it is sent once more, besides; nil when it must not be.
    let hedgeAfter: Duration?
    let limits: TransferLimits
    let mailbox: LoopMailbox
    let upload: UploadQueue?
    /// Whose transfer it is; nil: nobody's in particular.
    let group: TransferGroup?
    /// The place among the group's; -1 when it is not there.
    var groupIndex = -1
    /// The cohort of the group that it belongs to.
    var cohort = 0
    let response: Lock<ResponseState>

    /// The easy handle that carries the transfer; nil before its start, while its endpoints race, and after its end. Loop
    /// thread only.
    var handle: EasyHandle?
    /// The race of its endpoints; nil when it has one only. Loop thread only.
    var race: RaceRun?
    /// The number of times that the request went out, in all attempts. Loop thread only.
    var sendings = 0
    var wasSent: Bool { sendings > 0 }
    /// Whether it went out over HTTP/2, in any attempt. Loop thread only.
    var wasSentOverHTTP2 = false
    /// The connections that did not process it. Loop thread only.
    var refusals = RefusalCount()
    /// How often it was sent besides, because the first sending had no answer in time. Loop thread only.
    var hedges = 0
    /// Whether it is a probe of the loop's own, which nobody waits for. Loop thread only.
    var isProbe = false
    /// Whether the caller gave it up. It is kept here too, because a loop that does not run yet takes no other message.
    private let wasCancelled = Atomic<Bool>(false)
    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

    /// Whether its group ended it.
    private let wasCut = Atomic<Bool>(false)

    init(_ request: consuming TransferRequest, mailbox: LoopMailbox, group: TransferGroup? = nil) {
        hasBody = request.hasBody
        hasBytesToSend = request.hasBytesToSend
        mayBeSentTwice = request.mayBeSentTwice
        order = request.order
        hedgeAfter = request.hedgeAfter.flatMap { request.mayBeHedged ? $0 : nil }
        limits = request.limits
        if case .stream(let length, _) = request.body {
            upload = UploadQueue(length: length)
        } else {
            upload = nil
        }
        response = Lock(ResponseState(place: request.place))
        request.place = nil
        self.request = consume request
        self.mailbox = mailbox
        self.group = group
    }

    /// The request as it was before it was made a transfer, which has not begun.
    func takeRequest() -> TransferRequest {
        var request = request
        request.place = response.withLock { $0.takePlace() }
        return request
    }

    /// Gives the transfer up, from any thread and at any time. Whoever waits gets `CancellationError` from the loop.
    func cancel() {
        wasCancelled.store(true, ordering: .relaxed)
        mailbox.post(.cancel(self))
    }

    /// Ends the transfer because its group ends. Whoever waits is told so.
    func cut() {
        wasCut.store(true, ordering: .relaxed)
        cancel()
    }

    /// Hands over what a loop turn brought.
    /// - Returns: How to wake who waits for it.
    func deliver(
        head: RawHead? = nil,
        chunks: [[UInt8]] = [],
        lastChunk: [UInt8] = [],
        end: Result<TransferSummary, any Error>?
    ) -> ResponseState.Action {
        let end = wasCut.load(ordering: .relaxed) ? end.map(telling) : end
        let (action, place) = response.withLock { state in
            let action = state.receive(head: head, chunks: chunks, lastChunk: lastChunk, end: end)
            return (action, end == nil ? nil : state.takePlace())
        }
        if end != nil {
            // Its last holder gives it to the next one, which is not to happen under the lock.
            _ = consume place
            upload?.abandon()
            group?.remove(self)
        }
        return action
    }

    /// A cut transfer ends as a cancelled one does; its caller cancelled nothing.
    private func telling(_ end: Result<TransferSummary, any Error>) -> Result<TransferSummary, any Error> {
        guard case .failure(let error) = end, error is CancellationError else { return end }
        var failure = TransferFailure(
            code: .shutDown,
            phase: .total,
            message: "the client was shut down during the transfer"
        )
        failure.requestMayHaveBeenSent = wasSent
        return .failure(failure)
    }
}
