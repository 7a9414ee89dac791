// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The waiting, running and blocked lookups, and the number of threads for them.
///
/// A value: it starts no threads itself. Its methods return the work that is to be done after the lock around it is released.
///
/// A thread runs one lookup after the other and ends when none waits. Up to `threads` are started as lookups are submitted;
/// while lookups wait, ``grow()`` adds more, up to `maximumThreads`. The queue has no limit of its own: each lookup has a
/// deadline.
///
/// A lookup without a caller cannot be stopped, so its thread is **abandoned**: it no longer counts, and another may be
/// started in its place. Once `maximumAbandoned` threads are blocked like this, further ones continue to count, so that a
/// dead name server costs at most `maximumThreads + maximumAbandoned` threads.
struct LookupPool {
    typealias ID = UInt64

    /// The action after a change.
    enum Action: Hashable {
        case none
        /// Start a thread that calls ``next(after:)``; it is already counted.
        case startThread
    }

    private enum Place {
        case queued
        case running
        /// The lookup has no caller, and its thread no longer counts.
        case abandoned
        /// The lookup has no caller, and its thread still counts.
        case stuck
    }

    private let threads: Int
    private let maximumThreads: Int
    private let maximumAbandoned: Int
    private var places: [ID: Place] = [:]
    private var queue = ArrivalQueue<ID>()
    private var stuck: Set<ID> = []
    /// The number of threads that count against the limits.
    private(set) var activeThreads = 0
    /// The number of threads that are blocked in a lookup without a caller, and do not count.
    private(set) var abandonedThreads = 0

    init(threads: Int, maximumThreads: Int, maximumAbandoned: Int) {
        self.threads = max(1, threads)
        self.maximumThreads = max(self.threads, maximumThreads)
        self.maximumAbandoned = max(0, maximumAbandoned)
    }

    /// The number of lookups that wait for a thread.
    var queuedLookUps: Int { queue.count }

    /// Whether lookups wait and further threads may be started.
    var mayGrow: Bool { !queue.isEmpty && activeThreads < maximumThreads }

    /// Returns whether the longest-waiting lookup is no newer than this one.
    func hasWaited(since newest: ID) -> Bool { queue.first.map { $0 <= newest } ?? false }

    func isQueued(_ id: ID) -> Bool { places[id] == .queued }

    /// Adds a lookup.
    mutating func submit(_ id: ID) -> Action {
        places[id] = .queued
        queue.append(id)
        guard activeThreads < threads else { return .none }
        activeThreads += 1
        return .startThread
    }

    /// Adds threads, because lookups have waited: as many again, and at most one for each waiting lookup.
    /// - Returns: The number of threads to start; they are already counted.
    mutating func grow() -> Int {
        let count = min(queue.count, maximumThreads - activeThreads, max(activeThreads, 1))
        guard count > 0 else { return 0 }
        activeThreads += count
        return count
    }

    /// Returns the next lookup of a thread; nil means that the thread ends. A thread calls it when it starts, and after every
    /// lookup.
    mutating func next(after finished: ID?) -> ID? {
        if let finished, let place = places.removeValue(forKey: finished) {
            stuck.remove(finished)
            guard place != .abandoned || takeUpWork() else { return nil }
        }
        guard let id = queue.popFirst() else {
            activeThreads -= 1
            return nil
        }
        places[id] = .running
        return id
    }

    /// Counts a thread that returns from an abandoned lookup again, if the limit allows. A thread that is stuck makes room
    /// for it, because it may then be abandoned as well.
    private mutating func takeUpWork() -> Bool {
        abandonedThreads -= 1
        if activeThreads >= maximumThreads, let id = stuck.popFirst() {
            places[id] = .abandoned
            abandonedThreads += 1
            activeThreads -= 1
        }
        guard activeThreads < maximumThreads else { return false }
        activeThreads += 1
        return true
    }

    /// Records that a lookup has no caller any more. Idempotent.
    mutating func abandon(_ id: ID) -> Action {
        switch places[id] {
        case .queued:
            places[id] = nil
            queue.remove(id)
            return .none
        case .running where abandonedThreads < maximumAbandoned:
            places[id] = .abandoned
            abandonedThreads += 1
            activeThreads -= 1
            guard !queue.isEmpty else { return .none }
            activeThreads += 1
            return .startThread
        case .running:
            places[id] = .stuck
            stuck.insert(id)
            return .none
        case .abandoned, .stuck, nil:
            return .none
        }
    }

    /// Records that a counted thread could not be started.
    /// - Returns: The lookups that no thread will run: all waiting ones, if there is no other thread.
    mutating func threadDidNotStart() -> [ID] {
        activeThreads -= 1
        guard activeThreads == 0 else { return [] }
        var orphans: [ID] = []
        while let id = queue.popFirst() {
            places[id] = nil
            orphans.append(id)
        }
        return orphans
    }
}

/// A queue in the order of arrival, with removal from the middle. It contains each element at most once.
struct ArrivalQueue<Element: Hashable & Sendable>: Sendable {
    private var order: [Element] = []
    private var members: Set<Element> = []
    private var head = 0

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }

    /// The earliest of the remaining elements.
    var first: Element? { order[head...].first(where: members.contains) }

    mutating func append(_ element: Element) {
        order.append(element)
        members.insert(element)
    }

    mutating func popFirst() -> Element? {
        while head < order.count {
            let element = order[head]
            head += 1
            compact()
            if members.remove(element) != nil { return element }
        }
        return nil
    }

    /// Removes an element.
    /// - Returns: Whether it was in the queue.
    @discardableResult
    mutating func remove(_ element: Element) -> Bool {
        defer { compact() }
        return members.remove(element) != nil
    }

    /// Compacts `order`, in which removed elements stay until they outnumber the others.
    ///
    /// So every operation takes amortized constant time, and the memory stays in proportion to the members.
    private mutating func compact() {
        guard order.count > 2 * members.count + 16 else { return }
        order = order[head...].filter(members.contains)
        head = 0
    }
}
