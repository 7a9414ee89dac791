/// Which look-ups wait, run and hang, and how many threads there may be for them. A value: it starts nothing itself, its
/// methods return what is to be done once the lock around it is let go.
///
/// A thread takes one look-up after the other and ends when none waits. A look-up that nobody waits for any more cannot
/// be stopped, so its thread is **abandoned**: it no longer counts as a worker and another may be started in its place.
/// Once `maximumAbandoned` threads hang like this, further ones go on counting as workers, so that a dead name server
/// costs at most `workers + maximumAbandoned` threads; look-ups then wait in the queue until their own deadlines.
struct LookUpPool {
    typealias ID = UInt64

    /// What to do after a change.
    enum Action: Hashable {
        case none
        /// Start a thread that calls ``next(after:)``; it is counted already.
        case startThread
    }

    enum Submission: Hashable {
        case accepted(Action)
        /// The queue is full.
        case refused
    }

    private enum Place {
        case queued
        case running
        /// Nobody waits for it, and its thread is no worker any more.
        case abandoned
        /// Nobody waits for it, and its thread is still counted as a worker.
        case stuck
    }

    private let workers: Int
    private let maximumQueued: Int
    private let maximumAbandoned: Int
    private var places: [ID: Place] = [:]
    private var queue = LookUpQueue()
    private var stuck: Set<ID> = []
    /// Threads that count against `workers`.
    private(set) var activeThreads = 0
    /// Threads that hang in a look-up that nobody waits for, and do not count.
    private(set) var abandonedThreads = 0

    init(workers: Int, maximumQueued: Int, maximumAbandoned: Int) {
        self.workers = max(1, workers)
        self.maximumQueued = max(0, maximumQueued)
        self.maximumAbandoned = max(0, maximumAbandoned)
    }

    /// How many look-ups wait for a thread.
    var queuedLookUps: Int { queue.count }

    /// Takes a look-up in. With a thread to spare it does not count as waiting.
    mutating func submit(_ id: ID) -> Submission {
        let startsThread = activeThreads < workers
        guard startsThread || queue.count < maximumQueued else { return .refused }
        places[id] = .queued
        queue.append(id)
        guard startsThread else { return .accepted(.none) }
        activeThreads += 1
        return .accepted(.startThread)
    }

    /// What a thread does next; nil means that it ends. A thread calls it when it starts, and after every look-up.
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

    /// Makes a thread that comes back from an abandoned look-up a worker again, if there is room for one. One that is
    /// stuck makes room, since there may be one more abandoned thread now.
    private mutating func takeUpWork() -> Bool {
        abandonedThreads -= 1
        if activeThreads >= workers, let id = stuck.popFirst() {
            places[id] = .abandoned
            abandonedThreads += 1
            activeThreads -= 1
        }
        guard activeThreads < workers else { return false }
        activeThreads += 1
        return true
    }

    /// Notes that nobody waits for a look-up any more. Idempotent.
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
            guard queue.count > 0 else { return .none }
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

    /// Notes that a counted thread could not be started.
    /// - Returns: The look-ups that no thread will come for: all that wait, if there is no other thread.
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

/// Look-ups in the order of their arrival, with removal from the middle.
struct LookUpQueue {
    private var order: [LookUpPool.ID] = []
    private var members: Set<LookUpPool.ID> = []
    private var head = 0

    var count: Int { members.count }

    mutating func append(_ id: LookUpPool.ID) {
        order.append(id)
        members.insert(id)
    }

    mutating func popFirst() -> LookUpPool.ID? {
        while head < order.count {
            let id = order[head]
            head += 1
            compact()
            if members.remove(id) != nil { return id }
        }
        return nil
    }

    mutating func remove(_ id: LookUpPool.ID) {
        members.remove(id)
        compact()
    }

    /// Removed entries stay in `order` until they outnumber the rest, so that every operation is constant on average and
    /// the memory stays in proportion to the members.
    private mutating func compact() {
        guard order.count > 2 * members.count + 16 else { return }
        order = order[head...].filter(members.contains)
        head = 0
    }
}
