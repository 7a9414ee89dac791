internal import HTTPDNSPrimitives
internal import Synchronization

/// The state that all retries of a client share: their budget, clocks and random numbers.
final class RetryState: Sendable {
    let time: any TimeSource
    private let random: @Sendable () -> Double
    private let wallClock: WallClock
    private let calls = Atomic<UInt64>(0)
    private let budget: Lock<RetryBudget>

    init(_ configuration: HTTPDNSClient.Configuration) {
        time = configuration.resolver.timeSource
        random = configuration.random
        wallClock = configuration.wallClock
        budget = Lock(RetryBudget(at: configuration.resolver.timeSource.now()))
    }

    func noteCall() { calls.wrappingAdd(1, ordering: .relaxed) }

    /// Takes one retry out of the budget.
    func take(_ settings: HTTPDNSClient.RetryPolicy.Budget) -> Bool {
        let now = time.now()
        // Read under the lock: a later caller must not have a lower number.
        return budget.withLock { $0.take(settings, calls: calls.load(ordering: .relaxed), at: now) }
    }

    /// Returns a number from 0 to 1.
    func chance() -> Double { random() }

    /// Returns the seconds since 1970.
    func calendarSeconds() -> Int64 { wallClock.now() / 1000 }
}
