// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The admission queue: it decides which requests may send now, and which is next. A value that receives events and
/// returns the admitted requests.
///
/// It counts connections: over HTTP/1.1 each request has one, over HTTP/2 many requests share one. A request that waits
/// for one is in its host's queue. When the total is used up, hosts with room for one more connection are candidates.
/// The next free connection goes to the candidate with the first head of a queue.
///
/// Under overload the first in a queue has the least time left. A request that would probably miss its deadline waits
/// behind all others: otherwise connections would be used up by requests that end too late.
struct AdmissionQueue: Sendable {
    typealias Ticket = UInt64

    struct Limits: Hashable, Sendable {
        /// The connections to one host and port.
        var perHost = Int.max
        /// The connections for all hosts together.
        var total = Int.max
        /// The number of requests that an HTTP/2 connection is assumed to carry. Servers should allow at least 100 (RFC
        /// 9113 section 6.5.2).
        var streams = 100
        /// The maximum number of waiting requests.
        var maximumWaiting = Int.max
        /// The number of loops that connections may belong to.
        var loops = 1
        /// The maximum number of hosts without a request whose free connections are remembered, with several loops.
        var rememberedHosts = 1024
    }

    enum Reply: Equatable, Sendable {
        case admitted
        /// - Parameter displaced: A less urgent request that was displaced from the full queue.
        case waits(Ticket, displaced: Ticket?)
        /// The queue is full of requests that are at least as urgent.
        case full
    }

    /// A request that asks for a connection.
    struct Waiter: Sendable {
        let origin: HopOrigin
        let priority: HTTPDNSClient.Request.Priority
        /// The owner of the request, see ``withdrawAll(of:)``.
        let owner: ObjectIdentifier
        let arrival: MonotonicTime
        /// The end of its wait; nil means never.
        var until: MonotonicTime?
        /// The time at which its response head must have arrived; nil means never.
        var headDeadline: MonotonicTime?
        /// The time at which its body must have ended; nil means never.
        var deadline: MonotonicTime?

        /// Whether it would probably miss a deadline if it got a connection now. A request with little time from the
        /// start may need less than others: it is late only when half of its time has passed.
        /// - Parameter time: The time that requests to its host usually need.
        fileprivate func misses(_ deadline: MonotonicTime?, needing time: Duration, at now: MonotonicTime) -> Bool {
            deadline.map { now + min(time, ($0 - arrival) / 2) > $0 } ?? false
        }
    }

    /// An order with the more urgent first, then the earlier. Those that are too late come after all others.
    private struct Order: Comparable, Sendable {
        let priority: HTTPDNSClient.Request.Priority
        let ticket: Ticket
        var isLate = false

        static func < (left: Order, right: Order) -> Bool {
            if left.isLate != right.isLate { return right.isLate }
            return left.priority == right.priority ? left.ticket < right.ticket : left.priority > right.priority
        }
    }

    /// An order with the least urgent first, and of these the one that arrived last.
    private struct Dispensability: Comparable, Sendable {
        let order: Order

        static func < (left: Dispensability, right: Dispensability) -> Bool { right.order < left.order }
    }

    private struct Usage: Sendable {
        var requests = 0
        /// The number of requests that one connection carries.
        var share = 1
        var waiting = OrderedHeap<Order, Ticket>()
        /// The time from the admission of a request to its response head.
        var headTime = UsualTime()
        /// The time for which a request has its connection.
        var time = UsualTime()
        /// The requests by loop; nil with a single one.
        var loops: LoopUsage?

        var connections: Int { loops?.connections(share: share) ?? (requests + share - 1) / share }
        /// Whether one more request needs one more connection.
        var isFilled: Bool { loops.map { !$0.hasRoom(share: share) } ?? (requests % share == 0) }
    }

    private let limits: Limits
    /// The usage of a host without requests.
    private let newUsage: Usage
    private var usages: [HopOrigin: Usage] = [:]
    private var waiters: [Ticket: Waiter] = [:]
    private var deadlines = OrderedHeap<MonotonicTime, Ticket>()
    private var dispensable = OrderedHeap<Dispensability, Ticket>()
    private var candidates = OrderedHeap<Order, HopOrigin>()
    private var lastTicket: Ticket = 0
    /// The connections in use, for all hosts.
    private(set) var connections = 0
    /// The loop of the request that was admitted last, without a wait.
    private(set) var lastGrant = LoopGrant()
    /// The loops of admitted requests that waited, until ``takeGrant(of:)``. Empty with a single loop.
    private var grants: [Ticket: LoopGrant] = [:]
    /// The hosts without a request that have free connections; the least recently used first. Empty with a single loop.
    private var remembered = OrderedHeap<UInt64, HopOrigin>()
    private var lastRemembered: UInt64 = 0

    init(_ limits: Limits) {
        self.limits = limits
        newUsage = Usage(loops: limits.loops > 1 ? LoopUsage(loops: limits.loops) : nil)
    }

    /// The number of waiting requests.
    var waiting: Int { waiters.count }
    /// The number of known hosts: those with an admitted or a waiting request.
    var hosts: Int { usages.count }
    /// Returns the number of requests that wait for a connection to one host.
    func waiting(for origin: HopOrigin) -> Int { usages[origin]?.waiting.count ?? 0 }
    /// The earliest deadline of a waiting request.
    var nextDeadline: MonotonicTime? { deadlines.first?.key }

    // MARK: arriving and leaving

    /// Adds a request.
    mutating func ask(_ waiter: Waiter) -> Reply {
        let (origin, priority) = (waiter.origin, waiter.priority)
        // While there is room no request waits, so none is overtaken.
        if hasRoom(origin) {
            lastGrant = letThrough(origin)
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
        waiters[lastTicket] = waiter
        usages[origin, default: newUsage].waiting.set(order, for: lastTicket)
        if limits.loops > 1 { remembered.remove(origin) }
        dispensable.set(Dispensability(order: order), for: lastTicket)
        if let until = waiter.until { deadlines.set(until, for: lastTicket) }
        noteCandidate(origin)
        return .waits(lastTicket, displaced: displaced)
    }

    /// Records the end of an admitted request.
    /// - Parameter loop: The loop of its connection; nil when none was chosen.
    /// - Returns: The requests that are admitted now.
    mutating func release(_ origin: HopOrigin, from loop: Int?, at now: MonotonicTime) -> [Ticket] {
        guard var usage = usages[origin], usage.requests > 0 else { return [] }
        connections -= usage.connections
        usage.requests -= 1
        usage.loops?.remove(from: loop, usage.share)
        connections += usage.connections
        usages[origin] = usage
        return advance(origin, at: now)
    }

    /// Records whether connections to a host carry one request each, or many.
    /// - Returns: The requests that are admitted now.
    mutating func learn(_ origin: HopOrigin, isShared: Bool, at now: MonotonicTime) -> [Ticket] {
        let share = isShared ? limits.streams : 1
        guard var usage = usages[origin], usage.share != share else { return [] }
        connections -= usage.connections
        usage.share = share
        if isShared { usage.loops?.noteSharing() }
        connections += usage.connections
        usages[origin] = usage
        return advance(origin, at: now)
    }

    /// Records the time from the admission of a request to its response head.
    mutating func noteHead(_ origin: HopOrigin, after time: Duration) {
        usages[origin]?.headTime.learn(time, isCut: false)
    }

    /// Records the time for which a request had its connection, before its end.
    /// - Parameters:
    ///   - hasHead: Whether it got a response head.
    ///   - isInTime: Whether it ended before its deadline.
    mutating func noteEnd(_ origin: HopOrigin, after time: Duration, hasHead: Bool, isInTime: Bool) {
        if !hasHead { usages[origin]?.headTime.learn(time, isCut: true) }
        usages[origin]?.time.learn(time, isCut: !hasHead || !isInTime)
    }

    /// Returns the loop of an admitted request that has waited, once.
    mutating func takeGrant(of ticket: Ticket) -> LoopGrant { grants.removeValue(forKey: ticket) ?? LoopGrant() }

    /// Records the chosen loop of an admitted request.
    /// - Parameter granted: The loop that it was admitted with.
    /// - Returns: The loop that it must use: the granted one when the limits permit no connection on the chosen one.
    mutating func bind(_ origin: HopOrigin, from granted: Int?, to chosen: Int) -> Int {
        guard var usage = usages[origin], let before = usage.loops else { return chosen }
        let others = connections - usage.connections
        var loop = usage.loops?.move(from: granted, to: chosen, share: usage.share, atMost: limits.perHost) ?? chosen
        if let granted, loop != granted, others + usage.connections > limits.total {
            usage.loops = before
            loop = granted
        }
        connections = others + usage.connections
        usages[origin] = usage
        return loop
    }

    /// Removes a request from the queue.
    /// - Returns: Whether it was waiting.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let waiter = take(ticket) else { return false }
        noteCandidate(waiter.origin)
        forgetIfUnused(waiter.origin)
        return true
    }

    /// Removes all requests of one owner from the queue.
    mutating func withdrawAll(of owner: ObjectIdentifier) -> [Ticket] {
        let tickets = waiters.filter { $0.value.owner == owner }.map(\.key)
        for ticket in tickets { _ = withdraw(ticket) }
        return tickets
    }

    /// Removes the requests whose deadline has passed.
    mutating func expire(at now: MonotonicTime) -> [Ticket] {
        var tickets: [Ticket] = []
        while let (deadline, ticket) = deadlines.first, deadline <= now {
            _ = withdraw(ticket)
            tickets.append(ticket)
        }
        return tickets
    }

    // MARK: admitting the next

    private func hasRoom(_ origin: HopOrigin) -> Bool {
        guard let usage = usages[origin] else { return limits.perHost > 0 && connections < limits.total }
        return !usage.isFilled || (usage.connections < limits.perHost && connections < limits.total)
    }

    /// Admits requests after a connection of a host has become free.
    private mutating func advance(_ touched: HopOrigin, at now: MonotonicTime) -> [Ticket] {
        var admitted: [Ticket] = []
        var next: HopOrigin? = touched
        while let origin = next {
            while usages[origin]?.isFilled == false {
                postponeLate(origin, at: now)
                guard let ticket = letHeadThrough(origin) else { break }
                admitted.append(ticket)
            }
            noteCandidate(origin)
            forgetIfUnused(origin)
            next = nil
            if connections < limits.total, let best = bestCandidate(at: now) {
                if let ticket = letHeadThrough(best) { admitted.append(ticket) }
                next = best
            }
        }
        return admitted
    }

    /// Returns the candidate with the first request that is not too late, or else with the first one.
    private mutating func bestCandidate(at now: MonotonicTime) -> HopOrigin? {
        while let origin = candidates.first?.name {
            postponeLate(origin, at: now)
            noteCandidate(origin)
            if candidates.first?.name == origin { return origin }
        }
        return nil
    }

    /// Puts the requests at the head of a host's queue that are too late behind all others.
    private mutating func postponeLate(_ origin: HopOrigin, at now: MonotonicTime) {
        while let (order, ticket) = usages[origin]?.waiting.first, !order.isLate, isLate(ticket, at: now) {
            var late = order
            late.isLate = true
            usages[origin]?.waiting.set(late, for: ticket)
        }
    }

    private func isLate(_ ticket: Ticket, at now: MonotonicTime) -> Bool {
        guard let waiter = waiters[ticket], let usage = usages[waiter.origin] else { return false }
        return waiter.misses(waiter.headDeadline, needing: usage.headTime.most, at: now)
            || waiter.misses(waiter.deadline, needing: usage.time.most, at: now)
    }

    private mutating func letHeadThrough(_ origin: HopOrigin) -> Ticket? {
        guard let ticket = usages[origin]?.waiting.first?.name else { return nil }
        _ = take(ticket)
        let grant = letThrough(origin)
        if limits.loops > 1 { grants[ticket] = grant }
        return ticket
    }

    private mutating func letThrough(_ origin: HopOrigin) -> LoopGrant {
        var usage = usages[origin, default: newUsage]
        connections -= usage.connections
        usage.requests += 1
        let grant = usage.loops?.add(share: usage.share, atMost: limits.perHost)
        connections += usage.connections
        usages[origin] = usage
        if grant != nil { remembered.remove(origin) }
        return grant ?? LoopGrant()
    }

    private mutating func take(_ ticket: Ticket) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: ticket) else { return nil }
        usages[waiter.origin]?.waiting.remove(ticket)
        deadlines.remove(ticket)
        dispensable.remove(ticket)
        return waiter
    }

    /// A host is a candidate while a request waits for it and it has room for one more connection.
    private mutating func noteCandidate(_ origin: HopOrigin) {
        if let usage = usages[origin], let head = usage.waiting.first, usage.connections < limits.perHost {
            candidates.set(head.key, for: origin)
        } else {
            candidates.remove(origin)
        }
    }

    private mutating func forgetIfUnused(_ origin: HopOrigin) {
        guard let usage = usages[origin], usage.requests == 0, usage.waiting.isEmpty else { return }
        guard let loops = usage.loops, loops.freeConnections > 0 else { return usages[origin] = nil }
        // The next requests may get another version.
        usages[origin]?.share = 1
        lastRemembered += 1
        remembered.set(lastRemembered, for: origin)
        guard remembered.count > limits.rememberedHosts, let oldest = remembered.first?.name else { return }
        remembered.remove(oldest)
        usages[oldest] = nil
    }
}

/// The time that nearly all requests need at most. It follows the latest ones by their mean and their mean deviation,
/// with the weights of RFC 6298 for round-trip times.
private struct UsualTime: Sendable {
    private var mean: Duration?
    private var deviation = Duration.zero

    /// The mean and twice the mean deviation; zero before the first request.
    var most: Duration { (mean ?? .zero) + deviation * 2 }

    /// - Parameter isCut: Whether the request was ended before it was complete: it would have needed more time.
    mutating func learn(_ time: Duration, isCut: Bool) {
        guard let mean else {
            (self.mean, deviation) = (time, time / 2)
            return
        }
        if isCut, time < mean { return }
        deviation += (max(time - mean, mean - time) - deviation) / 4
        self.mean = mean + (time - mean) / 8
    }
}

/// A binary heap whose entries have names, so that any of them can be removed: the smallest key is first.
struct OrderedHeap<Key: Comparable & Sendable, Name: Hashable & Sendable>: Sendable {
    private var entries: [(key: Key, name: Name)] = []
    private var places: [Name: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var first: (key: Key, name: Name)? { entries.first }

    /// Adds a name, or gives it another key.
    mutating func set(_ key: Key, for name: Name) {
        if let place = places[name] {
            entries[place].key = key
            sink(rise(from: place))
        } else {
            entries.append((key, name))
            places[name] = entries.count - 1
            _ = rise(from: entries.count - 1)
        }
    }

    /// Removes a name, if it is present.
    mutating func remove(_ name: Name) {
        guard let place = places.removeValue(forKey: name) else { return }
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.name] = place
        sink(rise(from: place))
    }

    private mutating func rise(from start: Int) -> Int {
        var place = start
        while place > 0, entries[place].key < entries[(place - 1) / 2].key {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
        return place
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in (2 * place + 1)...(2 * place + 2)
            where child < entries.count && entries[child].key < entries[least].key {
                least = child
            }
            if least == place { return }
            swap(place, least)
            place = least
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        places[entries[left].name] = left
        places[entries[right].name] = right
    }
}
