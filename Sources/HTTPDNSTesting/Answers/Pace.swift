// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSStubs {
    /// A rate at which the body of an answer arrives.
    public struct Bandwidth: Hashable, Sendable, CustomStringConvertible {
        /// The bytes per second, at least 1.
        public let bytesPerSecond: Int

        /// Creates a rate. A number below 1 becomes 1.
        public init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

        /// Returns a rate in kilobits (1,000 bits) per second.
        public static func kilobitsPerSecond(_ kilobits: Int) -> Bandwidth {
            Bandwidth(bytesPerSecond: kilobits.multipliedReportingOverflow(by: 125).overflow ? .max : kilobits * 125)
        }

        /// GPRS: 56 kbit/s, which is 7,000 bytes per second.
        public static let gprs = Bandwidth.kilobitsPerSecond(56)
        /// EDGE: 128 kbit/s, which is 16,000 bytes per second.
        public static let edge = Bandwidth.kilobitsPerSecond(128)
        /// 3G: 3,200 kbit/s, which is 400,000 bytes per second.
        public static let umts = Bandwidth.kilobitsPerSecond(3200)
        /// 3G+: 7,200 kbit/s, which is 900,000 bytes per second.
        public static let hspa = Bandwidth.kilobitsPerSecond(7200)
        /// Wi-Fi: 12,000 kbit/s, which is 1,500,000 bytes per second.
        public static let wifi = Bandwidth.kilobitsPerSecond(12000)

        /// The rate as text, such as `7000 B/s`.
        public var description: String { "\(bytesPerSecond) B/s" }
    }
}

extension HTTPDNSStubs.Answer {
    /// Returns the same answer after a time, errors included. Several delays add up. A canceled call ends its wait
    /// immediately.
    public func delayed(by delay: Duration) -> HTTPDNSStubs.Answer {
        changed(", delayed by \(delay.shortText)") { use, respond in
            try await use.clock.sleep(until: use.clock.now() + max(delay, .zero))
            return try await respond(use)
        }
    }

    /// Returns the same answer with a body that takes this time.
    ///
    /// The time begins when the body is first read. The body arrives in equal parts, one every 250 ms, and ends with the
    /// time. A body without a known length arrives unchanged, and only its end waits.
    public func lasting(_ duration: Duration) -> HTTPDNSStubs.Answer {
        paced(", lasting \(duration.shortText)") { PaceSchedule(lasting: max(duration, .zero), length: $0) }
    }

    /// Returns the same answer with a body that arrives at this rate.
    ///
    /// The time begins when the body is first read. The body arrives in parts of 250 ms, and a byte at a time at rates
    /// below 4 bytes per second. A reader that is late gets the bytes that would have arrived since.
    public func bandwidth(_ bandwidth: HTTPDNSStubs.Bandwidth) -> HTTPDNSStubs.Answer {
        paced(", at \(bandwidth)") { _ in PaceSchedule(bytesPerSecond: bandwidth.bytesPerSecond) }
    }

    private func paced(
        _ suffix: String,
        _ schedule: @escaping @Sendable (_ length: Int64?) -> PaceSchedule
    ) -> HTTPDNSStubs.Answer {
        changed(suffix) { use, respond in
            var response = try await respond(use)
            let length = response.body.declaredLength
            let chunks = PacedChunks(
                base: response.body,
                schedule: schedule(length),
                clock: use.clock,
                // The deadline of a call is on the system's clock.
                deadline: use.clock is SystemTimeSource ? use.context.deadline.map { MonotonicTime($0) } : nil
            )
            response.body = response.body.changed(to: chunks, length: length)
            return response
        }
    }
}

/// The times at which the parts of a body arrive, after its first reading.
struct PaceSchedule: Sendable {
    private enum Kind: Sendable {
        case rate(Int)
        case duration(Duration, length: Int64?)
    }

    /// The time between two parts.
    static let slot = Duration.milliseconds(250)

    private let kind: Kind
    /// The number of bytes that have arrived.
    private var arrived: Int64 = 0

    init(bytesPerSecond: Int) { kind = .rate(bytesPerSecond) }

    init(lasting duration: Duration, length: Int64?) { kind = .duration(duration, length: length) }

    /// Returns the next part of the body, and the time of its arrival.
    /// - Parameter available: The number of bytes that the body has ready, at least 1.
    mutating func next(available: Int) -> (count: Int, time: Duration) {
        let count: Int
        let time: Duration
        switch kind {
        case .rate(let rate):
            count = min(available, max(1, rate / 4))
            time = Self.time(of: arrived + Int64(count), at: rate)
        case .duration(let duration, let length?) where arrived < length:
            let slots = Int64(min(max(1, (duration / Self.slot).rounded(.up)), 1e15))
            // The first slot at whose end more bytes have arrived.
            var slot = max(1, Int64(Double(arrived + 1) / Double(length) * Double(slots)) - 1)
            while Self.boundary(slot, of: slots, length) <= arrived { slot += 1 }
            count = Int(min(Int64(available), Self.boundary(slot, of: slots, length) - arrived))
            time = slot >= slots ? duration : duration * (Double(slot) / Double(slots))
        case .duration(let duration, let length):
            // Bytes beyond the declared length come with its end.
            (count, time) = (available, length == nil ? .zero : duration)
        }
        arrived += Int64(count)
        return (count, time)
    }

    /// The time at which the body ends after its last part.
    var end: Duration {
        switch kind {
        case .rate(let rate): Self.time(of: arrived, at: rate)
        case .duration(let duration, _): duration
        }
    }

    private static func time(of bytes: Int64, at rate: Int) -> Duration {
        let (seconds, rest) = bytes.quotientAndRemainder(dividingBy: Int64(rate))
        return .seconds(seconds) + .seconds(Double(rest) / Double(rate))
    }

    /// The number of bytes at the end of a slot.
    private static func boundary(_ slot: Int64, of slots: Int64, _ length: Int64) -> Int64 {
        slot >= slots ? length : Int64(Double(length) * Double(slot) / Double(slots))
    }
}

/// A body that arrives by a schedule.
private struct PacedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: HTTPDNSClient.Response.Body
    let schedule: PaceSchedule
    let clock: any TimeSource
    /// The deadline of the call; nil for none, and with another clock.
    let deadline: MonotonicTime?

    struct AsyncIterator: AsyncIteratorProtocol {
        private var base: HTTPDNSClient.Response.Body.AsyncIterator
        private var schedule: PaceSchedule
        private let clock: any TimeSource
        private let deadline: MonotonicTime?
        private var start: MonotonicTime?
        private var waiting: ArraySlice<UInt8> = []

        fileprivate init(_ chunks: PacedChunks) {
            base = chunks.base.makeAsyncIterator()
            schedule = chunks.schedule
            clock = chunks.clock
            deadline = chunks.deadline
        }

        mutating func next() async throws -> [UInt8]? {
            let start = start ?? clock.now()
            self.start = start
            while waiting.isEmpty {
                guard let chunk = try await base.next() else {
                    try await sleep(until: start + schedule.end)
                    return nil
                }
                waiting = chunk[...]
            }
            let (count, time) = schedule.next(available: waiting.count)
            try await sleep(until: start + time)
            let part = Array(waiting.prefix(count))
            waiting = waiting.dropFirst(count)
            return part
        }

        private func sleep(until time: MonotonicTime) async throws {
            guard let deadline, deadline < time else { return try await clock.sleep(until: time) }
            try await clock.sleep(until: deadline)
            throw HTTPDNSClientError.callOverdue(
                .body,
                "the body of a stub's answer was not complete at the call's deadline",
                hint: "the answer has a pace; timeouts.total bounds it, for one call or for all"
            )
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
