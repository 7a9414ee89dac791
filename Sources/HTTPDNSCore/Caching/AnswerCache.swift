package import HTTPDNSPrimitives
internal import Synchronization

/// The answers that are remembered and the questions that are under way, in shards with a lock each, so that threads that
/// ask for different names do not wait for each other.
///
/// Answers and questions of one name share a shard: looking, finding nothing and taking a place in a flight is one step.
package struct AnswerCache: Sendable {
    typealias Flights = FlightTable<AnswerKey, OneShot<Delivery>, FlightWork>

    final class Shard: Sendable {
        struct State: Sendable {
            var table: AnswerTable
            var flights = Flights()

            /// What is known about a key, as far as it may be used by these settings. What may not is removed.
            /// - Returns: Nil when the settings are no longer the newest: the question has to be put anew.
            mutating func known(_ key: AnswerKey, by settings: ResolvingSettings, at now: MonotonicTime) -> Known? {
                guard let (answer, epoch) = table.findWithEpoch(key) else { return Known() }
                if epoch == settings.epoch { return Known(answer: answer) }
                if ResolvingSettings.isNewer(epoch, than: settings.epoch) { return nil }
                guard settings.keeps(answer) else {
                    _ = table.set(nil, for: key, at: now)
                    return Known()
                }
                table.confirm(key, epoch: settings.epoch)
                return Known(answer: answer)
            }
        }

        /// What is known about a key.
        struct Known: Sendable {
            var answer: CachedAnswer?
        }

        let state: Lock<State>

        init(capacity: Int, byteLimit: Int) {
            state = Lock(State(table: AnswerTable(capacity: capacity, byteLimit: byteLimit)))
        }
    }

    let shards: [Shard]
    /// Tells the cache from all others of the process.
    private let number: UInt64
    private static let lastNumber = Atomic<UInt64>(0)
    /// How far a hash is shifted so that its high bits are left, which number the shards.
    private let shift: UInt64

    /// More would not help: with 16, threads of a machine with 64 cores seldom meet.
    private static let maximumShards = 16
    /// A shard with fewer places than this would be full long before the cache is.
    private static let placesPerShard = 64

    /// - Parameters:
    ///   - entries: How many keys are kept, at least 1. Names spread over the shards by chance, so a cache that is asked for
    ///     nearly as many names as it has places keeps a few less.
    ///   - bytes: How many bytes they may take.
    package init(entries: Int, bytes: Int) {
        var count = Self.maximumShards
        while count > 1, entries / count < Self.placesPerShard { count /= 2 }
        number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        shift = UInt64(64 - count.trailingZeroBitCount)
        // The remainder is spread, so that the sum is the limit exactly.
        shards = (0..<count).map { number in
            Shard(
                capacity: entries / count + (number < entries % count ? 1 : 0),
                byteLimit: bytes / count
            )
        }
    }

    /// Where a key belongs.
    func shard(for key: AnswerKey) -> Shard {
        shards[shards.count == 1 ? 0 : Int(truncatingIfNeeded: key.hash >> shift)]
    }

    /// What is known about a key, marked as used, if it is known to be usable under the settings with this number. What the
    /// thread used before it finds without a lock.
    package func find(_ key: AnswerKey, epoch: UInt16 = 0) -> CachedAnswer? {
        let tag = NearAnswers.tag(of: key, in: number, epoch: epoch)
        let near = NearAnswers.ofThisThread
        if let answer = near?.find(key, tag: tag) { return answer }
        let answer = shard(for: key).state.withLock { state -> CachedAnswer? in
            guard let (answer, known) = state.table.findWithEpoch(key), known == epoch else { return nil }
            return answer
        }
        if let answer { near?.keep(answer, tag: tag) }
        return answer
    }

    /// Takes in an answer that was kept from before a restart, unless something newer is known.
    package func restore(_ answer: KnownAnswer, for key: AnswerKey, at now: MonotonicTime, epoch: UInt16 = 0) {
        shard(for: key).state.withLock { state in
            guard state.table.find(key) == nil else { return }
            _ = state.table.update(key, at: now, epoch: epoch) { $0.restore(answer) }
        }
    }

    /// How many keys are kept now.
    var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.table.count } } }

    /// The memory that all answers take, with their share of the tables.
    package var byteCount: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.table.byteCount } } }

    /// All answers at about this moment, in no order.
    var answers: [CachedAnswer] { shards.flatMap { $0.state.withLock { $0.table.answers } } }

    /// Forgets everything; questions under way still answer those who wait.
    func removeAll() {
        for shard in shards {
            shard.state.withLock { state in
                state.table.removeAll()
                state.flights.supersedeAll()
            }
        }
    }
}
