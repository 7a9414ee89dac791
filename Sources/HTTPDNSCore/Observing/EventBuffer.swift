/// The events that one listener has not taken yet, and who waits for the next one. A value: its methods return whom to
/// resume once the lock around it is let go.
///
/// Either events are kept or someone waits, never both.
struct EventBuffer<Event: Sendable, Waiter: Sendable>: Sendable {
    typealias WaiterID = UInt64

    /// An event, and how many before it were dropped.
    struct Delivery: Sendable {
        var event: Event
        var missed: Int
    }

    /// What a listener who asks for the next event gets.
    enum Taking: Sendable {
        case event(Delivery)
        /// It waits, under this number.
        case waiting(WaiterID)
        case ended
    }

    private let limit: Int
    private var events: [Event?] = []
    /// Where the oldest event is; the array is a ring once it has reached `limit`.
    private var oldest = 0
    private var count = 0
    private var missed = 0
    private var waiters: [(id: WaiterID, waiter: Waiter)] = []
    private var lastID: WaiterID = 0
    private var isEnded = false

    /// - Parameter limit: How many events are kept; less than 1 counts as 1.
    init(limit: Int) { self.limit = max(1, limit) }

    /// Takes an event in. With a full buffer the oldest one is dropped for it.
    /// - Returns: Who gets the event, if someone waits for one.
    mutating func offer(_ event: Event) -> (Waiter, Delivery)? {
        guard !isEnded else { return nil }
        if !waiters.isEmpty { return (waiters.removeFirst().waiter, Delivery(event: event, missed: 0)) }
        if count == limit {
            events[oldest] = event
            oldest = (oldest + 1) % limit
            missed += 1
        } else if events.count < limit {
            // Not a ring yet, or one that has not been full: it grows as far as it is used.
            events.append(event)
            count += 1
        } else {
            events[(oldest + count) % limit] = event
            count += 1
        }
        return nil
    }

    /// The oldest event, or a place among those who wait for one.
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

    /// Ends somebody's waiting.
    /// - Returns: The waiter, unless an event or the end has come for it already.
    mutating func cancel(_ id: WaiterID) -> Waiter? {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return waiters.remove(at: index).waiter
    }

    /// No more events; those that are kept can still be taken. Idempotent.
    /// - Returns: Those who wait in vain.
    mutating func end() -> [Waiter] {
        isEnded = true
        defer { waiters = [] }
        return waiters.map(\.waiter)
    }
}
