// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import AllocationCounter
internal import Glibc
internal import HTTPDNSPrimitives
internal import Synchronization

/// What one contender took in one round.
struct Sample: Sendable {
    /// Nanoseconds per call of each batch, sorted.
    var batches: [Double]
    /// Calls of all threads together in a second.
    var callsPerSecond: Double

    /// The value that this share of the batches does not exceed.
    func quantile(_ share: Double) -> Double {
        batches.isEmpty ? .nan : batches[min(Int(share * Double(batches.count)), batches.count - 1)]
    }
}

enum Measurement {
    /// Calls between two readings of the clock: reading it costs as much as a look-up.
    static let batchSize = 200

    /// Runs batches on each of `threads` threads or tasks for about `seconds`.
    static func sample(_ contender: Contender, _ choice: Names.Choice, threads: Int, seconds: Double) async -> Sample {
        let names = (0..<threads).map { Names(choice, thread: $0) }
        let limit = Int64(seconds * 1e9)
        let results: [(batches: [Double], elapsed: Int64)]
        switch contender.work {
        case .synchronous(let make):
            results = Threads.run(threads) { thread, barrier in
                let batch = make(names[thread])
                batch(0..<batchSize)
                barrier()
                return run(for: limit) { batch($0) }
            }
        case .asynchronous(let make):
            results = await withTaskGroup(of: (batches: [Double], elapsed: Int64).self) { group in
                for thread in 0..<threads {
                    group.addTask {
                        let batch = make(names[thread])
                        await batch(0..<batchSize)
                        return await run(for: limit, batch)
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        let calls = results.reduce(0) { $0 + $1.batches.count } * batchSize
        let elapsed = results.map(\.elapsed).max() ?? 1
        return Sample(
            batches: results.flatMap(\.batches).sorted(),
            callsPerSecond: Double(calls) / (Double(elapsed) / 1e9)
        )
    }

    /// How often a call asks for memory, on average over one thread's calls on names that were looked up before.
    static func allocations(_ contender: Contender) async -> Double {
        let names = Names(.mixed, thread: 0)
        let calls = 0..<20_000
        switch contender.work {
        case .synchronous(let make):
            let batch = make(names)
            batch(calls)
            allocation_counter_start()
            batch(calls)
        case .asynchronous(let make):
            let batch = make(names)
            await batch(calls)
            allocation_counter_start()
            await batch(calls)
        }
        return Double(allocation_counter_stop()) / Double(calls.count)
    }

    private static func run(for limit: Int64, _ batch: Contender.Batch) -> (batches: [Double], elapsed: Int64) {
        var batches: [Double] = []
        batches.reserveCapacity(1 << 16)
        let start = now()
        var before = start
        var call = 0
        while before - start < limit {
            batch(call..<call + batchSize)
            call += batchSize
            let after = now()
            batches.append(Double(after - before) / Double(batchSize))
            before = after
        }
        return (batches, before - start)
    }

    private static func run(
        for limit: Int64,
        _ batch: Contender.AsyncBatch
    ) async -> (batches: [Double], elapsed: Int64) {
        var batches: [Double] = []
        batches.reserveCapacity(1 << 16)
        let start = now()
        var before = start
        var call = 0
        while before - start < limit {
            await batch(call..<call + batchSize)
            call += batchSize
            let after = now()
            batches.append(Double(after - before) / Double(batchSize))
            before = after
        }
        return (batches, before - start)
    }

    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The processor time of the whole process so far, in seconds.
func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
