// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The loops of a transport that has several, and the choice between them.
///
/// The choice reads two words of the home loop as long as that is not busy and no origin is spread. Only otherwise it reads the
/// clock and takes a lock.
final class LoopGroup: Sendable {
    let mailboxes: [LoopMailbox]
    private let shared: SharedLoopState
    private let selection: Lock<LoopSelection>
    /// The number of started loops in the selection.
    private let started = Atomic<Int>(1)
    /// Whether an origin is spread, or a loop rests.
    private let needsChoice = Atomic<Bool>(false)
    private let takesTurns: Bool
    private let turn = Atomic<Int>(0)

    /// - Parameter first: The loop that gets requests from the start.
    init(_ configuration: TransportConfiguration, first: LoopMailbox) {
        shared = first.shared
        selection = Lock(LoopSelection(count: configuration.loops))
        takesTurns = configuration.takesLoopsInTurn
        mailboxes =
            [first]
            + (1..<max(2, configuration.loops)).map { index in
                var own = configuration
                own.threadName = "\(configuration.threadName)-\(index)"
                return LoopMailbox(own, shared: first.shared, index: index)
            }
        shared.onFailure { [weak self] loop, isStarted in self?.failed(loop, isStarted: isStarted) }
    }

    /// The number of loops that get requests.
    var startedLoops: Int { takesTurns ? mailboxes.count : started.load(ordering: .relaxed) }

    /// Notes that a loop cannot serve at present, see ``LoopSelection/failed(_:isStarted:at:)``.
    func failed(_ loop: Int, isStarted: Bool) {
        let now = SystemTimeSource().now().nanoseconds
        let (started, hasResting) = selection.withLock { selection in
            selection.failed(loop, isStarted: isStarted, at: now)
            return (selection.started, selection.hasResting)
        }
        self.started.store(started, ordering: .relaxed)
        if hasResting { needsChoice.store(true, ordering: .relaxed) }
    }

    /// Returns the loop for a request. If its permit is a ``LoopBinding``, that decides.
    func mailbox(for origin: RaceOrigin, _ permit: (any AnyObject & Sendable)?) -> LoopMailbox {
        guard let permit, let binding = permit as? any LoopBinding else {
            return mailboxes[loop(for: origin, preferring: nil)]
        }
        let bound = binding.bind { preferred in
            loop(for: origin, preferring: preferred.flatMap { mailboxes.indices.contains($0) ? $0 : nil })
        }
        return mailboxes[mailboxes.indices.contains(bound) ? bound : 0]
    }

    /// Returns a loop that runs, or the first one.
    private func loop(for origin: RaceOrigin, preferring preferred: Int?) -> Int {
        for _ in mailboxes {
            let loop = choice(for: origin, preferring: preferred)
            // A lone loop starts with its first transfer, whose failure then says why it cannot.
            if loop == 0 && startedLoops == 1 || mailboxes[loop].isStarted() { return loop }
            failed(loop, isStarted: false)
        }
        return 0
    }

    private func choice(for origin: RaceOrigin, preferring preferred: Int?) -> Int {
        if takesTurns { return turn.wrappingAdd(1, ordering: .relaxed).oldValue % mailboxes.count }
        let started = startedLoops
        var hash: UInt64?
        if !needsChoice.load(ordering: .relaxed) {
            let home: Int
            if let preferred {
                home = preferred
            } else if started == 1 {
                home = 0
            } else {
                let own = LoopGroup.hash(origin)
                hash = own
                home = LoopSelection.home(of: own, among: started)
            }
            if !mailboxes[home].load.activity.mayBeBusy { return home }
        }
        let now = SystemTimeSource().now().nanoseconds
        let own = hash ?? LoopGroup.hash(origin)
        let (loop, nowStarted, needsChoice) = selection.withLock { selection in
            let loop = selection.loop(
                for: own,
                preferring: preferred,
                at: now,
                activity: { mailboxes[$0].load.activity },
                isConnected: { shared.hasConnection(to: origin, on: $0) }
            )
            return (loop, selection.started, selection.isSpreading || selection.hasResting)
        }
        self.started.store(nowStarted, ordering: .relaxed)
        self.needsChoice.store(needsChoice, ordering: .relaxed)
        return loop
    }

    private static func hash(_ origin: RaceOrigin) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(origin)
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }
}

/// A connection permit that names the loop of its connection, see ``TransferRequest/permit``.
package protocol LoopBinding: AnyObject, Sendable {
    /// Binds the permit to a loop. A permit is bound once: later calls return the same loop.
    /// - Parameter choose: Returns the loop for a new connection. Its parameter is the loop that has an unused connection.
    /// - Returns: The loop that the request must use.
    func bind(_ choose: (_ preferred: Int?) -> Int) -> Int
}

/// The processor cores of the machine.
package enum ProcessorCores {
    /// The number of cores that this process may use (sched_getaffinity(2)); 1 when the system does not report it.
    package static let usable: Int = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { bits in
        bits.initializeMemory(as: UInt8.self, repeating: 0)
        guard ccurl_get_affinity(bits.baseAddress, bits.count) > 0 else { return 1 }
        return max(1, bits.reduce(0) { $0 + $1.nonzeroBitCount })
    }
}
