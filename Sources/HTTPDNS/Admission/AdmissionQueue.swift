internal import HTTPDNSPrimitives

/// Who may send now, and who is next. A value: it is told what happens, and says who goes.
///
/// What is counted is connections: over HTTP/1.1 each request has one, over HTTP/2 many requests share one. Whoever waits for
/// one is in its host's queue; hosts that have room for one more connection, when the total has none, are candidates for the
/// next that is free, in the order of those at the heads of their queues.
struct AdmissionQueue: Sendable {
    typealias Ticket = UInt64

    struct Limits: Hashable, Sendable {
        /// Connections to one host and port.
        var perHost = Int.max
        /// Connections in all.
        var total = Int.max
        /// The requests that an HTTP/2 connection is taken to carry. Servers should allow 100 at least (RFC 9113 section
        /// 6.5.2).
        var streams = 100
        /// How many requests may wait.
        var maximumWaiting = Int.max
    }

    enum Reply: Equatable, Sendable {
        case admitted
        /// - Parameter displaced: A less urgent request, whose place in the full queue was taken.
        case waits(Ticket, displaced: Ticket?)
        /// The queue is full of requests that are as urgent.
        case full
    }

    /// The more urgent first, then the earlier.
    private struct Order: Comparable, Sendable {
        let priority: HTTPDNSClient.Request.Priority
        let ticket: Ticket

        static func < (left: Order, right: Order) -> Bool {
            left.priority == right.priority ? left.ticket < right.ticket : left.priority > right.priority
        }
    }

    /// The least urgent first, and of these the one that came last.
    private struct Dispensability: Comparable, Sendable {
        let order: Order

        static func < (left: Dispensability, right: Dispensability) -> Bool { right.order < left.order }
    }

    private struct Waiter: Sendable {
        let origin: HopOrigin
        let priority: HTTPDNSClient.Request.Priority
        let owner: ObjectIdentifier
    }

    private struct Usage: Sendable {
        var requests = 0
        /// How many requests one connection carries.
        var share = 1
        var waiting = OrderedHeap<Order, Ticket>()

        var connections: Int { (requests + share - 1) / share }
        /// Whether one more request needs one more connection.
        var isFilled: Bool { requests % share == 0 }
    }

    private let limits: Limits
    private var usages: [HopOrigin: Usage] = [:]
    private var waiters: [Ticket: Waiter] = [:]
    private var deadlines = OrderedHeap<MonotonicTime, Ticket>()
    private var dispensable = OrderedHeap<Dispensability, Ticket>()
    private var candidates = OrderedHeap<Order, HopOrigin>()
    private var lastTicket: Ticket = 0
    /// Connections in use, for all hosts.
    private(set) var connections = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Requests that wait.
    var waiting: Int { waiters.count }
    /// Hosts that anything is known of: those with a request that was let through or waits.
    var hosts: Int { usages.count }
    /// Requests that wait for a connection to one host.
    func waiting(for origin: HopOrigin) -> Int { usages[origin]?.waiting.count ?? 0 }
    /// When the next one that waits has waited for too long.
    var nextDeadline: MonotonicTime? { deadlines.first?.key }

    // MARK: coming and going

    /// A request comes.
    /// - Parameters:
    ///   - deadline: When it waits no longer; nil means that it waits for ever.
    ///   - owner: Whose request it is, see ``withdrawAll(of:)``.
    mutating func ask(
        for origin: HopOrigin,
        _ priority: HTTPDNSClient.Request.Priority,
        until deadline: MonotonicTime?,
        owner: ObjectIdentifier
    ) -> Reply {
        // Where there is room nobody waits, so nobody is overtaken.
        if hasRoom(origin) {
            letThrough(origin)
            return .admitted
        }
        var displaced: Ticket?
        if waiters.count >= limits.maximumWaiting {
            guard let last = dispensable.first, last.key.order.priority < priority else { return .full }
            displaced = last.name
            _ = withdraw(last.name)
        }
        lastTicket += 1
        let order = Order(priority: priority, ticket: lastTicket)
        waiters[lastTicket] = Waiter(origin: origin, priority: priority, owner: owner)
        usages[origin, default: Usage()].waiting.set(order, for: lastTicket)
        dispensable.set(Dispensability(order: order), for: lastTicket)
        if let deadline { deadlines.set(deadline, for: lastTicket) }
        noteCandidate(origin)
        return .waits(lastTicket, displaced: displaced)
    }

    /// A request that was let through has ended.
    /// - Returns: Who goes now.
    mutating func release(_ origin: HopOrigin) -> [Ticket] {
        guard var usage = usages[origin], usage.requests > 0 else { return [] }
        connections -= usage.connections
        usage.requests -= 1
        connections += usage.connections
        usages[origin] = usage
        return advance(origin)
    }

    /// Connections to a host carry one request each, or many.
    /// - Returns: Who goes now.
    mutating func learn(_ origin: HopOrigin, isShared: Bool) -> [Ticket] {
        let share = isShared ? limits.streams : 1
        guard var usage = usages[origin], usage.share != share else { return [] }
        connections -= usage.connections
        usage.share = share
        connections += usage.connections
        usages[origin] = usage
        return advance(origin)
    }

    /// A request waits no longer.
    /// - Returns: Whether it waited.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let waiter = take(ticket) else { return false }
        noteCandidate(waiter.origin)
        forgetIfUnused(waiter.origin)
        return true
    }

    /// No request of one owner waits any longer.
    mutating func withdrawAll(of owner: ObjectIdentifier) -> [Ticket] {
        let tickets = waiters.filter { $0.value.owner == owner }.map(\.key)
        for ticket in tickets { _ = withdraw(ticket) }
        return tickets
    }

    /// Those whose deadline has come wait no longer.
    mutating func expire(at now: MonotonicTime) -> [Ticket] {
        var tickets: [Ticket] = []
        while let (deadline, ticket) = deadlines.first, deadline <= now {
            _ = withdraw(ticket)
            tickets.append(ticket)
        }
        return tickets
    }

    // MARK: who is next

    private func hasRoom(_ origin: HopOrigin) -> Bool {
        guard let usage = usages[origin] else { return limits.perHost > 0 && connections < limits.total }
        return !usage.isFilled || (usage.connections < limits.perHost && connections < limits.total)
    }

    /// Something became free at a host.
    private mutating func advance(_ touched: HopOrigin) -> [Ticket] {
        var admitted: [Ticket] = []
        var next: HopOrigin? = touched
        while let origin = next {
            while usages[origin]?.isFilled == false, let ticket = letHeadThrough(origin) { admitted.append(ticket) }
            noteCandidate(origin)
            forgetIfUnused(origin)
            next = nil
            if connections < limits.total, let best = candidates.first?.name {
                if let ticket = letHeadThrough(best) { admitted.append(ticket) }
                next = best
            }
        }
        return admitted
    }

    private mutating func letHeadThrough(_ origin: HopOrigin) -> Ticket? {
        guard let ticket = usages[origin]?.waiting.first?.name else { return nil }
        _ = take(ticket)
        letThrough(origin)
        return ticket
    }

    private mutating func letThrough(_ origin: HopOrigin) {
        var usage = usages[origin, default: Usage()]
        connections -= usage.connections
        usage.requests += 1
        connections += usage.connections
        usages[origin] = usage
    }

    private mutating func take(_ ticket: Ticket) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: ticket) else { return nil }
        usages[waiter.origin]?.waiting.remove(ticket)
        deadlines.remove(ticket)
        dispensable.remove(ticket)
        return waiter
    }

    /// A host is a candidate while somebody waits for it and it has room for one more connection.
    private mutating func noteCandidate(_ origin: HopOrigin) {
        if let usage = usages[origin], let head = usage.waiting.first, usage.connections < limits.perHost {
            candidates.set(head.key, for: origin)
        } else {
            candidates.remove(origin)
        }
    }

    private mutating func forgetIfUnused(_ origin: HopOrigin) {
        if let usage = usages[origin], usage.requests == 0, usage.waiting.isEmpty { usages[origin] = nil }
    }
}
