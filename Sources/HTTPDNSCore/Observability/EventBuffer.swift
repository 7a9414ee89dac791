/// The buffered events of one listener, or the waiter for its next one, never both.
///
/// A value: its methods return the waiter that is to be resumed after the lock around it is released.
struct EventBuffer<Event: Sendable, Waiter: Sendable>: Sendable {
    typealias WaiterID = UInt64

    /// An event, and the number of events dropped before it.
    struct Delivery: Sendable {
        var event: Event
        var missed: Int
    }

    /// The result of a request for the next event.
    enum Taking: Sendable {
        case event(Delivery)
        /// The listener waits, under this number.
        case waiting(WaiterID)
        case ended
    }

    private let limit: Int
    private var events: [Event?] = []
    /// The index of the oldest event; the array is a ring buffer once it has reached `limit`.
    private var oldest = 0
    private var count = 0
    private var missed = 0
    private var waiters: [(id: WaiterID, waiter: Waiter)] = []
    private var lastID: WaiterID = 0
    private var isEnded = false

    /// - Parameter limit: The maximum number of events; less than 1 counts as 1.
    init(limit: Int) { self.limit = max(1, limit) }

    /// Adds an event. If the buffer is full, the oldest one is dropped.
    /// - Returns: The waiter that receives the event, if there is one.
    mutating func offer(_ event: Event) -> (Waiter, Delivery)? {
        guard !isEnded else { return nil }
        if !waiters.isEmpty { return (waiters.removeFirst().waiter, Delivery(event: event, missed: 0)) }
        if count == limit {
            events[oldest] = event
            oldest = (oldest + 1) % limit
            missed += 1
        } else if events.count < limit {
            // Not a ring buffer yet, because it was never full: it grows with its use.
            events.append(event)
            count += 1
        } else {
            events[(oldest + count) % limit] = event
            count += 1
        }
        return nil
    }

    /// Returns the oldest event, or registers the waiter.
    mutating func take(orWaitAs waiter: Waiter) -> Taking {
        if count > 0, let event = events[oldest] {
            events[oldest] = nil
            count -= 1
            oldest = (oldest + 1) % limit
            if count == 0 {
                events.removeAll(keepingCapacity: true)
                oldest = 0
            }
            defer { missed = 0 }
            return .event(Delivery(event: event, missed: missed))
        }
        if isEnded { return .ended }
        lastID += 1
        waiters.append((lastID, waiter))
        return .waiting(lastID)
    }

    /// Removes a waiter.
    /// - Returns: The waiter, unless it has received an event or the end already.
    mutating func cancel(_ id: WaiterID) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return waiters.remove(at: index).waiter
    }

    /// Ends the buffer. Buffered events can still be received. Idempotent.
    /// - Returns: The waiters, which receive no event any more.
    mutating func end() -> [Waiter] {
        isEnded = true
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }
}
