// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The most bytes of bodies per second, in each direction.
    ///
    /// A response body is delivered at this rate, and the server is slowed down by back-pressure: up to 256 KiB are buffered
    /// before that over HTTP/1.1, and up to libcurl's window over HTTP/2. Decoded bytes count. A request body is read and sent
    /// at this rate; bytes in memory are then sent like a stream. Heads, handshakes and queries to providers do not count, and
    /// responses from a cache do not.
    public struct Bandwidth: Hashable, Sendable {
        /// The most bytes per second of response bodies, at least 1. Nil means no limit.
        public var receiving: HTTPDNSByteCount?
        /// The most bytes per second of request bodies, at least 1. Nil means no limit.
        public var sending: HTTPDNSByteCount?

        /// Creates a bandwidth, by default without a limit.
        public init(receiving: HTTPDNSByteCount? = nil, sending: HTTPDNSByteCount? = nil) {
            self.receiving = receiving
            self.sending = sending
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate() throws(HTTPDNSClientError) {
            for (name, limit) in [("receiving", receiving), ("sending", sending)] where limit?.bytes == 0 {
                throw .configuration(
                    "bandwidth.\(name) is 0, and no body would end",
                    hint: "1 byte a second is the least"
                )
            }
        }
    }
}

/// A rate of bytes that several bodies share.
final class RateLimit: Sendable {
    private typealias Waiter = OneShot<RateQueue.Turn?>

    private struct State: Sendable {
        var queue: RateQueue
        var waiting: [RateQueue.Ticket: Waiter] = [:]
    }

    let bytesPerSecond: Int
    /// Deadlines of calls have the same clock.
    private let clock: any TimeSource
    private let state: Lock<State>

    /// Returns nil for no limit.
    init?(_ limit: HTTPDNSByteCount?, clock: any TimeSource = SystemTimeSource()) {
        guard let bytes = limit?.bytes, bytes > 0 else { return nil }
        bytesPerSecond = bytes
        self.clock = clock
        state = Lock(State(queue: RateQueue(bytesPerSecond: bytes)))
    }

    /// Waits for the turn of some bytes, and until it ends.
    /// - Returns: Whether they may be passed on; false as soon as they cannot be in time.
    /// - Throws: `CancellationError`.
    func pass(_ portion: RateQueue.Portion) async throws -> Bool {
        let waiter = Waiter()
        let ticket = change { [clock] state in
            let (ticket, events) = state.queue.enter(portion, at: clock.now())
            state.waiting[ticket] = waiter
            return (ticket, events)
        }
        // The time of a body that is canceled is free for the others.
        defer {
            change { [clock] state in
                state.waiting[ticket] = nil
                return ((), state.queue.leave(ticket, at: clock.now()))
            }
        }
        let turn = await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(nil)
        }
        try Task.checkCancellation()
        guard let turn else { return false }
        try await clock.sleep(until: turn.end)
        return true
    }

    /// Changes the queue, and notifies those whose wait is over.
    private func change<Value: Sendable>(
        _ body: @Sendable (inout State) -> (Value, [RateQueue.Event])
    ) -> Value {
        let (value, ended, hold) = state.withLock { state -> (Value, [(Waiter, RateQueue.Turn?)], MonotonicTime?) in
            let (value, events) = body(&state)
            let ended = events.compactMap { event in state.waiting[event.ticket].map { ($0, event.turn) } }
            return (value, ended, state.queue.takeHold())
        }
        for (waiter, turn) in ended { waiter.deliver(turn) }
        guard let hold else { return value }
        CallWork.detached { [weak self, clock] in
            try? await clock.sleep(until: hold)
            self?.change { ((), $0.queue.endHold(at: hold)) }
        }
        return value
    }
}

/// The order in which bodies take the time of a rate. A value that receives events and returns whose wait is over.
///
/// One portion of one body has its turn at a time. Only bytes that are passed on take time: a body that is canceled leaves its
/// turn, and one that can no longer end before its deadline gets none. So the limit is also used up by bodies that end well when
/// more is requested than it permits.
///
/// Bodies with at most a second of the rate to go end one after the other, the oldest first: if they shared the rate under
/// overload, all of them would be too late. Longer ones, and those of unknown length, share it by turns. While both kinds wait,
/// each kind has every second turn.
struct RateQueue: Sendable {
    typealias Ticket = UInt64

    struct Portion: Sendable {
        let bytes: Int
        /// The bytes of the body from this portion on; nil when its length is unknown.
        let left: Int64?
        /// The start of the body.
        let start: MonotonicTime
        let deadline: MonotonicTime?
    }

    struct Turn: Hashable, Sendable {
        let end: MonotonicTime
    }

    /// The end of the wait of a ticket.
    struct Event: Hashable, Sendable {
        let ticket: Ticket
        /// Its turn; nil when its body would be too late.
        let turn: Turn?
    }

    private struct Order: Comparable, Sendable {
        let start: MonotonicTime
        let ticket: Ticket

        static func < (left: Order, right: Order) -> Bool { (left.start, left.ticket) < (right.start, right.ticket) }
    }

    private struct Waiter: Sendable {
        let portion: Portion
        let arrival: MonotonicTime
    }

    /// The longest time between two portions of a body that is not lost: its reader has to be resumed, and asks for the next one.
    static let slack = Duration.milliseconds(10)

    private let bytesPerSecond: Int
    /// The end of the last turn.
    private var usedUntil = MonotonicTime(nanoseconds: .min)
    private var present: (ticket: Ticket, start: MonotonicTime, portion: Portion)?
    /// A short body whose next portion is expected, and the time until which the turn is kept for it.
    private var held: (start: MonotonicTime, until: MonotonicTime)?
    private var newHold: MonotonicTime?
    private var waiters: [Ticket: Waiter] = [:]
    private var short = OrderedHeap<Order, Ticket>()
    private var long = OrderedHeap<Ticket, Ticket>()
    /// The latest starts of turns with which bodies can still end in time.
    private var latest = OrderedHeap<MonotonicTime, Ticket>()
    private var lastTicket: Ticket = 0
    private var wasShort = false

    init(bytesPerSecond: Int) { self.bytesPerSecond = bytesPerSecond }

    /// The most bytes of a turn: an eighth of a second of a rate.
    static func portion(at bytesPerSecond: Int) -> Int { max(1, bytesPerSecond / 8) }

    /// Returns the time at which ``endHold(at:)`` must be called; once for each.
    mutating func takeHold() -> MonotonicTime? {
        defer { newHold = nil }
        return newHold
    }

    mutating func enter(_ portion: Portion, at now: MonotonicTime) -> (ticket: Ticket, events: [Event]) {
        lastTicket += 1
        waiters[lastTicket] = Waiter(portion: portion, arrival: now)
        if isShort(portion) {
            short.set(Order(start: portion.start, ticket: lastTicket), for: lastTicket)
        } else {
            long.set(lastTicket, for: lastTicket)
        }
        if let deadline = portion.deadline {
            latest.set(deadline - time(of: portion.left ?? Int64(portion.bytes)), for: lastTicket)
        }
        let isFree = present == nil && (held == nil || held?.start == portion.start)
        return (lastTicket, isFree ? next() : refuse(before: usedUntil))
    }

    /// Removes a ticket, after its turn or before.
    mutating func leave(_ ticket: Ticket, at now: MonotonicTime) -> [Event] {
        guard let turn = present, turn.ticket == ticket else {
            remove(ticket)
            return []
        }
        present = nil
        if now < turn.start + time(of: Int64(turn.portion.bytes)) {
            // Nothing was passed on.
            usedUntil = max(turn.start, now)
        } else if isShort(turn.portion), let left = turn.portion.left, left > turn.portion.bytes, !waiters.isEmpty {
            held = (turn.portion.start, now + RateQueue.slack)
            newHold = held?.until
            return []
        }
        return next()
    }

    /// Gives the next turn to another body, if the one for which it was kept has not asked for it.
    mutating func endHold(at moment: MonotonicTime) -> [Event] { held?.until == moment ? next() : [] }

    private mutating func next() -> [Event] {
        held = nil
        var events: [Event] = []
        while true {
            let isLong = short.isEmpty || wasShort && !long.isEmpty
            guard let ticket = isLong ? long.first?.name : short.first?.name, let waiter = waiters[ticket] else {
                return events
            }
            // A late wake-up takes no time of the rate: the turn begins at the end of the one before.
            let start = max(usedUntil, waiter.arrival - RateQueue.slack)
            events += refuse(before: start)
            guard waiters[ticket] != nil else { continue }
            wasShort = !isLong
            remove(ticket)
            usedUntil = start + time(of: Int64(waiter.portion.bytes))
            present = (ticket, start, waiter.portion)
            events.append(Event(ticket: ticket, turn: Turn(end: usedUntil)))
            return events + refuse(before: usedUntil)
        }
    }

    /// Removes the tickets whose turn would have to begin earlier.
    private mutating func refuse(before start: MonotonicTime) -> [Event] {
        var events: [Event] = []
        while let (last, ticket) = latest.first, last < start {
            remove(ticket)
            events.append(Event(ticket: ticket, turn: nil))
        }
        return events
    }

    private func isShort(_ portion: Portion) -> Bool { portion.left.map { $0 <= bytesPerSecond } ?? false }

    private mutating func remove(_ ticket: Ticket) {
        waiters[ticket] = nil
        short.remove(ticket)
        long.remove(ticket)
        latest.remove(ticket)
    }

    private func time(of bytes: Int64) -> Duration { .seconds(Double(bytes) / Double(bytesPerSecond)) }
}

/// The rates at which one body is passed on.
struct BodyRate: Sendable {
    /// The rate that all bodies of the client share; nil for none.
    let shared: RateLimit?
    /// The bytes per second of the request's own limit; nil for none.
    let own: Int?
    /// The moment at which the body must have ended.
    var deadline: MonotonicTime?
}

/// A stream whose bytes are passed on at a limited rate.
struct RateLimitedBytes<Base: AsyncSequence<[UInt8], any Error> & Sendable>: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: Base
    let rate: BodyRate
    /// The number of bytes; nil when it is unknown.
    let length: Int64?
    /// Returns the error of a body that cannot end in time.
    let overdue: @Sendable () async -> any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        private let rate: BodyRate
        private let overdue: @Sendable () async -> any Error
        /// The request's own rate, whose only user is this body.
        private var own: RateQueue?
        private let portion: Int
        private let start = SystemTimeSource().now()
        private var left: Int64?
        private var rest: ArraySlice<UInt8> = []

        init(_ sequence: RateLimitedBytes) {
            base = sequence.base.makeAsyncIterator()
            rate = sequence.rate
            overdue = sequence.overdue
            own = rate.own.map { RateQueue(bytesPerSecond: $0) }
            portion = RateQueue.portion(at: [rate.own, rate.shared?.bytesPerSecond].compactMap(\.self).min() ?? .max)
            left = sequence.length
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if rest.isEmpty {
                guard let chunk = try await base.next(isolation: actor) else { return nil }
                rest = chunk[...]
            }
            let bytes = rest.count <= portion ? Array(rest) : Array(rest.prefix(portion))
            rest = rest.dropFirst(bytes.count)
            let next = RateQueue.Portion(
                bytes: bytes.count,
                left: left.map { Swift.max($0, Int64(bytes.count)) },
                start: start,
                deadline: rate.deadline
            )
            left = left.map { $0 - Int64(bytes.count) }
            if !(try await pass(next)), let deadline = rate.deadline {
                try await SystemTimeSource().sleep(until: deadline)
                throw await overdue()
            }
            return bytes
        }

        /// Waits until both rates permit to pass on some bytes.
        /// - Returns: False as soon as they cannot be in time.
        private mutating func pass(_ portion: RateQueue.Portion) async throws -> Bool {
            guard let turn = own?.enter(portion, at: SystemTimeSource().now()) else {
                return try await rate.shared?.pass(portion) ?? true
            }
            guard let end = turn.events.first?.turn?.end else { return false }
            if let shared = rate.shared, !(try await shared.pass(portion)) { return false }
            try await SystemTimeSource().sleep(until: end)
            _ = own?.leave(turn.ticket, at: SystemTimeSource().now())
            return true
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension HTTPDNSClient.Response.Body {
    /// Returns the same body at a limited rate.
    func limited(by rate: BodyRate, _ hop: HopRecord) -> HTTPDNSClient.Response.Body {
        var rate = rate
        rate.deadline = hop.time.deadline
        let limited = RateLimitedBytes(base: self, rate: rate, length: declaredLength) {
            var error = HTTPDNSClientError.callOverdue(
                .body,
                "the body of the response from \(hop.origin) was not read in time: its bandwidth is limited",
                host: hop.host,
                hint: "give the call more time (timeouts.total), or a higher bandwidth",
                limit: hop.time.limit,
                mayHaveBeenSent: true
            )
            error.elapsed = hop.time.elapsed
            return error
        }
        return changed(to: limited, length: declaredLength)
    }
}

extension RequestBodySource {
    /// Returns the same body at a limited rate.
    func limited(by rate: BodyRate, until deadline: MonotonicTime?) async throws -> RequestBodySource {
        var rate = rate
        rate.deadline = deadline
        switch self {
        case .none: return self
        case .bytes(let bytes):
            return try await OpenPieces.source(of: [.bytes(bytes)], until: nil).limited(by: rate, until: deadline)
        case .stream(let length, let chunks):
            return .stream(length: length, limited(chunks, length, rate))
        }
    }

    private func limited(
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
        _ length: Int64?,
        _ rate: BodyRate
    ) -> any AsyncSequence<[UInt8], any Error> & Sendable {
        RateLimitedBytes(base: chunks, rate: rate, length: length) {
            // The transfer fails at the same deadline and cancels this stream: its error is that of the call.
            if let deadline = rate.deadline { try? await SystemTimeSource().sleep(until: deadline + .seconds(1)) }
            return CancellationError()
        }
    }
}

/// The rates of a client's bodies.
struct RateLimits: Sendable {
    private let receiving: RateLimit?
    private let sending: RateLimit?

    init(_ configuration: HTTPDNSClient.Configuration) {
        receiving = RateLimit(configuration.bandwidth.receiving)
        sending = RateLimit(configuration.bandwidth.sending)
    }

    /// Returns the rate of the response body; none for most requests.
    func receiving(of request: HTTPDNSClient.Request) -> BodyRate? {
        guard receiving != nil || request.own != nil else { return nil }
        return rate(receiving, request.own?.callOptions.bandwidth.receiving?.bytes)
    }

    /// Returns the rate of the request body; none for most requests.
    func sending(of request: HTTPDNSClient.Request) -> BodyRate? {
        guard sending != nil || request.own != nil else { return nil }
        return rate(sending, request.own?.callOptions.bandwidth.sending?.bytes)
    }

    private func rate(_ shared: RateLimit?, _ own: Int?) -> BodyRate? {
        shared == nil && own == nil ? nil : BodyRate(shared: shared, own: own)
    }
}
