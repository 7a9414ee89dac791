// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A transfer, shared by its caller and its loop.
///
/// Safe to share: `request`, `mailbox`, `upload`, `uploadProgress`, `notes` and `group` never change, `response` is behind its
/// lock, `isCancelled` and `wasCut` are atomic. `groupIndex` and `transportSet` are accessed only under the group's lock; `handle`,
/// `race`, `attempts`, `sendings`, `hedges` and `isProbe` only on the loop's thread.
final class Transfer: @unchecked Sendable {
    /// The number of unread body bytes at which the loop stops reading. Four chunks of 64 KiB keep a reader busy while the next
    /// ones arrive.
    static let window = 256 * 1024

    let request: TransferRequest
    /// Facts of the request that the loop checks often; stored separately so that it never copies the request.
    let hasBody: Bool
    let hasBytesToSend: Bool
    let mayBeRepeated: Bool
    let isOverTLS: Bool
    let order: EndpointOrder
    /// The time without a response after which it is sent once more in parallel; `nil` when it must not be.
    let hedgeAfter: Duration?
    let limits: TransferLimits
    let mailbox: LoopMailbox
    let upload: UploadQueue?
    /// Nil when nobody is told of the body's progress.
    let uploadProgress: UploadProgress?
    /// The notes for the observers of its call; `nil` for none.
    let notes: TransferNotes?
    /// The group of the transfer; `nil` for none.
    let group: TransferGroup?
    /// The index among the group's transfers; -1 when it is not there.
    var groupIndex = -1
    /// The transport set of the group that it belongs to.
    var transportSet = 0
    let response: Lock<ResponseState>

    /// The easy handle that carries the transfer; `nil` before its start, while its endpoints race, and after its end. Loop
    /// thread only.
    var handle: EasyHandle?
    /// The race of its endpoints; `nil` with a single endpoint that no late ones can join. Loop thread only.
    /// Unchecked exclusivity: a race calls nothing outside.
    @exclusivity(unchecked) var race: Race?
    /// The handles of the attempts of that race that libcurl has, by index. Loop thread only.
    private(set) var attempts: [EasyHandle?] = []
    /// The number of times that the request was sent, in all attempts. Loop thread only.
    var sendings = 0
    var wasSent: Bool { sendings > 0 }
    /// Whether it was sent over HTTP/2, in any attempt. Loop thread only.
    var wasSentOverHTTP2 = false
    /// The connections that did not process it. Loop thread only.
    var refusals = RefusalCount()
    /// The number of times that it was sent again in parallel, because the first sending had no response in time. Loop thread
    /// only.
    var hedges = 0
    /// Whether it is a probe of the loop's own, without a caller. Loop thread only.
    var isProbe = false
    /// Whether the caller canceled it. It is also stored here, because a loop that does not run yet accepts no other message.
    private let wasCancelled = Atomic<Bool>(false)
    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

    /// Whether its group ended it.
    private let wasCut = Atomic<Bool>(false)

    init(_ request: consuming TransferRequest, mailbox: LoopMailbox, group: TransferGroup? = nil) {
        hasBody = request.hasBody
        hasBytesToSend = request.hasBytesToSend
        isOverTLS = request.isOverTLS
        mayBeRepeated = request.mayBeRepeated
        order = request.order
        hedgeAfter = request.hedgeAfter.flatMap { request.mayBeHedged ? $0 : nil }
        limits = request.limits
        if case .stream(let length, _) = request.body {
            let queue = UploadQueue(length: length)
            upload = queue
            uploadProgress = request.uploadProgress.map { UploadProgress(queue, $0) }
        } else {
            upload = nil
            uploadProgress = nil
        }
        notes = request.notes
        response = Lock(ResponseState(permit: request.permit))
        request.permit = nil
        self.request = consume request
        self.mailbox = mailbox
        self.group = group
    }

    /// Returns the original request of a transfer that has not begun.
    func takeRequest() -> TransferRequest {
        var request = request
        request.permit = response.withLock { $0.takePermit() }
        return request
    }

    /// Sets the handle of an attempt.
    func set(_ handle: EasyHandle?, ofAttempt index: Int) {
        while attempts.count <= index { attempts.append(nil) }
        attempts[index] = handle
    }

    func endRace() { (race, attempts) = (nil, []) }

    /// Passes the endpoints whose lookup is in flight to the loop, as soon as they are known.
    func addLateEndpoints() {
        guard let late = request.lateEndpoints else { return }
        CallWork.detached { [self] in
            let endpoints = await late.value
            if !endpoints.isEmpty { mailbox.post(.add(endpoints, to: self)) }
        }
    }

    /// Cancels the transfer, from any thread and at any time. The waiting caller gets `CancellationError` from the loop.
    func cancel() {
        wasCancelled.store(true, ordering: .relaxed)
        mailbox.post(.cancel(self))
    }

    /// Ends the transfer of a response whose body nobody will read, from any thread. For its group it is over: the caller's
    /// next request may come before the loop has ended it.
    func endUnread() {
        group?.remove(self)
        mailbox.post(.endUnread(self))
    }

    /// Ends the transfer because its group ends. The waiting caller gets that failure.
    func cut() {
        wasCut.store(true, ordering: .relaxed)
        cancel()
    }

    /// Delivers the data of a loop turn.
    /// - Returns: The action that resumes the waiting caller.
    func deliver(
        head: TransferHead? = nil,
        chunks: [[UInt8]] = [],
        lastChunk: [UInt8] = [],
        end: Result<TransferSummary, any Error>?
    ) -> ResponseState.Action {
        let end = wasCut.load(ordering: .relaxed) ? end.map(telling) : end
        // A caller that sees the end may begin its next request.
        if end != nil { group?.remove(self) }
        let (action, permit) = response.withLock { state in
            let action = state.receive(head: head, chunks: chunks, lastChunk: lastChunk, end: end)
            return (action, end == nil ? nil : state.takePermit())
        }
        if end != nil {
            // The last reference may pass it to the next request, which must not happen under the lock.
            _ = consume permit
            upload?.abandon()
        }
        return action
    }

    /// Replaces the cancellation of a transfer that its group ended: its caller did not cancel it.
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
