internal import HTTPDNSPrimitives
internal import Synchronization

/// Counts calls until their response's head, and shuts them out once the client is shut down.
final class CallGate: Sendable {
    private static let closed: UInt64 = 1 << 63

    /// The number of calls inside, and the highest bit once the gate is closed.
    private let state = Atomic<UInt64>(0)
    private let waiters = Lock(DrainWaiters())

    /// - Parameter nested: Whether the call is part of one that is inside already and may end its work.
    /// - Throws: ``HTTPDNSClientError`` with code `shutDown`.
    func enter(nested: Bool = false) throws(HTTPDNSClientError) {
        let before = state.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
        guard before & CallGate.closed != 0, !nested else { return }
        leave()
        throw HTTPDNSClientError.shutDown
    }

    func leave() {
        guard state.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == CallGate.closed else { return }
        for waiter in waiters.withLock({ $0.takeAll() }) { waiter.resume() }
    }

    /// Whether the client is shut down.
    var isClosed: Bool { state.load(ordering: .acquiring) & CallGate.closed != 0 }

    func close() {
        state.bitwiseOr(CallGate.closed, ordering: .acquiringAndReleasing)
    }

    /// Returns when nobody is inside the closed gate, at `deadline`, or when the task is cancelled.
    func awaitEmpty(until deadline: MonotonicTime, on clock: some TimeSource) async {
        let number = waiters.withLock { $0.newNumber() }
        let timer = Task {
            try await clock.sleep(until: deadline)
            self.release(number)
        }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isOver = waiters.withLock { waiters in
                    // Looked at under the lock: whoever leaves last comes here after the count fell.
                    guard state.load(ordering: .acquiring) != CallGate.closed else { return true }
                    return !waiters.add(continuation, number: number)
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            release(number)
        }
        timer.cancel()
    }

    private func release(_ number: Int) {
        waiters.withLock { $0.release(number) }?.resume()
    }
}

/// Who waits for the last call to end. A wait may be given up before it has begun.
struct DrainWaiters {
    typealias Waiter = UnsafeContinuation<Void, Never>

    private var waiting: [Int: Waiter] = [:]
    private var released: Set<Int> = []
    private var lastNumber = 0

    mutating func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Whether the waiter was kept; if not, its wait is over already.
    mutating func add(_ waiter: Waiter, number: Int) -> Bool {
        guard released.remove(number) == nil else { return false }
        waiting[number] = waiter
        return true
    }

    mutating func release(_ number: Int) -> Waiter? {
        if let waiter = waiting.removeValue(forKey: number) { return waiter }
        released.insert(number)
        return nil
    }

    mutating func takeAll() -> [Waiter] {
        defer { waiting = [:] }
        return Array(waiting.values)
    }
}
