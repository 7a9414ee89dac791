// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

// The work that has a time.
extension TransportLoop {
    /// Performs the steps that have a time.
    func doTimedWork() {
        expire()
        uncounted.count(at: now)
        sweepIfDue()
        probeIfDue()
    }

    /// The time at which the first of them is due; `Int64.max` when none is.
    var nextTimedWork: Int64 {
        let first = min(deadlines.firstKey, watched.wakesAt, sweep.at, uncounted.nextAt)
        return min(first, drainsUntil ?? nextProbe)
    }
}

// The deadlines of transfers' phases, and the errors after them.
extension TransportLoop {
    /// Updates the heap after a phase began whose bound may be earlier than the one in the heap. Later bounds are found when
    /// the heap's has passed.
    func deadlineMayBeEarlier(for handle: EasyHandle) {
        let deadline = bound(of: handle).deadline
        if handle.heapIndex < 0 {
            if deadline < .max { deadlines.insert(handle, at: deadline) }
        } else if deadline < handle.heapKey {
            deadlines.move(handle, to: deadline)
        }
    }

    func expire() {
        lookAtSilent()
        while deadlines.firstKey <= now, let handle = deadlines.first {
            let bound = bound(of: handle)
            if bound.deadline == .max {
                deadlines.remove(handle)
            } else if bound.deadline > now {
                deadlines.move(handle, to: bound.deadline)
            } else {
                switch bound.consequence {
                case .triesNext: delayPassed(for: handle)
                case .looks: look(at: handle)
                case .stopsDiscarding: finish(handle, .failure(CancellationError()))
                case .ends:
                    noteUnanswered(handle)
                    retireIfSilent(handle, bound.phase)
                    finish(handle, .failure(timeout(of: handle, bound)))
                }
            }
        }
        moveWaiters()
    }

    func bound(of handle: EasyHandle) -> PhaseBound {
        guard let limits = handle.transfer?.limits else { return .none }
        return PhaseBound.next(for: handle, limits)
    }

    func timeout(of handle: EasyHandle, _ bound: PhaseBound) -> TransferFailure {
        let limit = bound.limit ?? .nanoseconds(bound.deadline - handle.progress.startedAt)
        var failure = failure(.timedOut, bound.phase, bound.message(limit: limit), handle)
        failure.limit = limit
        if bound.phase == .total || bound.phase == .head { failure.reached = handle.phaseOfFailure }
        return failure
    }

    func elapsed(_ handle: EasyHandle) -> Duration { .nanoseconds(max(0, now - handle.progress.startedAt)) }

    func failure(
        _ code: TransferFailure.Code,
        _ phase: TransferFailure.Phase,
        _ message: String,
        _ handle: EasyHandle
    ) -> TransferFailure {
        completed(TransferFailure(code: code, phase: phase, message: message), handle)
    }

    func completed(_ failure: TransferFailure, _ handle: EasyHandle) -> TransferFailure {
        var failure = failure
        failure.endpoint = handle.pin?.key.endpoint
        failure.proxy = handle.pin?.key.egressPath?.proxy?.description
        failure.requestMayHaveBeenSent = handle.mayHaveArrived
        failure.elapsed = elapsed(handle)
        return withTrail(failure, handle)
    }
}

/// The next bound of a transfer.
struct PhaseBound {
    /// The time of the bound, in nanoseconds on the loop's clock.
    var deadline: Int64
    var phase: TransferFailure.Phase
    /// The length of the bound; `nil` for the deadline of the whole transfer, which is a point in time.
    var limit: Duration?
    /// The consequence when the bound passes.
    var consequence = Consequence.ends

    enum Consequence {
        /// The transfer ends.
        case ends
        /// The delay of the race has passed: the next endpoint is tried in parallel.
        case triesNext
        /// The connection is checked, or the request without a response is sent once more.
        case looks
        /// The rest of an unwanted body took too long.
        case stopsDiscarding
    }

    static let none = PhaseBound(deadline: .max, phase: .total, limit: nil)

    /// Returns the earlier one of the phase's own bound and that of the whole transfer.
    static func next(for handle: EasyHandle, _ limits: TransferLimits) -> PhaseBound {
        var bound = PhaseBound(deadline: limits.deadline?.nanoseconds ?? .max, phase: .total, limit: nil)
        func consider(_ phase: TransferFailure.Phase, _ limit: Duration?, since start: Int64) {
            guard let limit else { return }
            let (deadline, overflow) = start.addingReportingOverflow(limit.wholeNanoseconds)
            if !overflow, deadline < bound.deadline {
                bound = PhaseBound(deadline: deadline, phase: phase, limit: limit)
            }
        }
        func considerHead() {
            guard let deadline = limits.headDeadline?.nanoseconds, deadline < bound.deadline else { return }
            bound = PhaseBound(deadline: deadline, phase: .head, limit: nil)
        }
        func consider(_ consequence: Consequence, _ phase: TransferFailure.Phase, at deadline: Int64) {
            guard deadline < bound.deadline else { return }
            bound = PhaseBound(deadline: deadline, phase: phase, limit: nil, consequence: consequence)
        }
        switch handle.progress.phase {
        case .connecting:
            considerHead()
            consider(.connect, limits.connect, since: handle.connectingSince)
            consider(.triesNext, .connect, at: handle.progress.delayedUntil)
        case .securing:
            considerHead()
            consider(.tls, limits.tls, since: handle.progress.activeAt)
            consider(.triesNext, .tls, at: handle.progress.delayedUntil)
        case .sending:
            if limits.headAfterBody == nil { considerHead() }
            // A stream without data is the caller's own pause, not the connection's.
            if !handle.sending.isPaused { consider(.send, limits.idle, since: handle.progress.activeAt) }
            consider(.looks, .send, at: min(handle.progress.livenessCheckAt, handle.progress.hedgesAt))
        case .awaitingHead:
            if let limit = limits.headAfterBody {
                consider(.head, limit, since: handle.progress.activeAt)
            } else {
                considerHead()
            }
            consider(.firstByte, limits.firstByte, since: handle.progress.activeAt)
            consider(.looks, .firstByte, at: min(handle.progress.livenessCheckAt, handle.progress.hedgesAt))
        case .receiving:
            if !handle.head.isComplete {
                if let limit = limits.headAfterBody {
                    // The rest of the request may still have to be sent.
                    if handle.sending.bodySentAt < .max { consider(.head, limit, since: handle.sending.bodySentAt) }
                } else {
                    considerHead()
                }
            }
            // While the caller does not read, nothing can arrive.
            if !handle.body.isPaused { consider(.body, limits.idle, since: handle.progress.activeAt) }
            consider(.looks, .body, at: handle.progress.livenessCheckAt)
            consider(.stopsDiscarding, .body, at: handle.body.discardsUntil)
        }
        return bound
    }

    func message(limit: Duration) -> String {
        let time = "\(Int64(limit.inSeconds * 1_000)) ms"
        return switch phase {
        case .connect: "no TCP connection within \(time)"
        case .tls: "the TLS handshake was not done within \(time)"
        case .send: "the server took no bytes of the request for \(time)"
        case .firstByte: "no byte of the response within \(time)"
        case .body: "no byte of the body for \(time)"
        case .head: "no response head within \(time)"
        case .queue, .total: "the response was not complete within the total time of \(time)"
        }
    }
}

/// An object with a deadline that knows its index in the heap, so that it can be removed.
protocol HeapMember: AnyObject {
    var heapIndex: Int { get set }
    /// The deadline in nanoseconds on the loop's clock. Only ``DeadlineHeap`` may change it while the member is in the heap.
    var heapKey: Int64 { get set }
}

/// A binary heap of deadlines with removal from the middle, so that a finished transfer leaves no entry.
struct DeadlineHeap<Member: HeapMember> {
    private var members: [Member] = []
    /// The deadlines of the members, once more in the heap's order: a comparison does not read the members' memory.
    private var keys: [Int64] = []

    var first: Member? { members.first }
    var isEmpty: Bool { members.isEmpty }
    /// The first deadline; `Int64.max` when the heap is empty.
    var firstKey: Int64 { keys.isEmpty ? .max : keys[0] }

    mutating func insert(_ member: Member, at key: Int64) {
        member.heapKey = key
        member.heapIndex = members.count
        members.append(member)
        keys.append(key)
        siftUp(member.heapIndex)
    }

    mutating func move(_ member: Member, to key: Int64) {
        let index = member.heapIndex
        guard index >= 0 else { return insert(member, at: key) }
        let earlier = key < member.heapKey
        member.heapKey = key
        keys[index] = key
        if earlier { siftUp(index) } else { siftDown(index) }
    }

    mutating func remove(_ member: Member) {
        let index = member.heapIndex
        guard index >= 0 else { return }
        let (last, lastKey) = (members.removeLast(), keys.removeLast())
        member.heapIndex = -1
        guard last !== member else { return }
        members[index] = last
        keys[index] = lastKey
        last.heapIndex = index
        siftUp(index)
        siftDown(last.heapIndex)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard keys[index] < keys[parent] else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in (2 * index + 1)...(2 * index + 2)
            where child < keys.count && keys[child] < keys[least] {
                least = child
            }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        members.swapAt(left, right)
        keys.swapAt(left, right)
        members[left].heapIndex = left
        members[right].heapIndex = right
    }
}
