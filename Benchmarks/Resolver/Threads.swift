// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives
internal import Synchronization

/// Plain threads that begin together: tasks would never be more than there are processors.
enum Threads {
    private final class Gathering<Result: Sendable>: Sendable {
        let missing: Atomic<Int>
        let results = Lock<[Result]>([])

        init(_ count: Int) { missing = Atomic(count) }

        /// Waits until all threads are here.
        func meet() {
            missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            while missing.load(ordering: .acquiring) > 0 { sched_yield() }
        }
    }

    private final class Start: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on `count` threads and returns what each returned. Its second argument waits for the others.
    static func run<Result: Sendable>(
        _ count: Int,
        _ body: @escaping @Sendable (Int, () -> Void) -> Result
    ) -> [Result] {
        let gathering = Gathering<Result>(count)
        let threads = (0..<count).map { number in
            let start = Start {
                let result = body(number) { gathering.meet() }
                gathering.results.withLock { $0.append(result) }
            }
            var thread = pthread_t()
            let code = pthread_create(
                &thread,
                nil,
                { argument in
                    if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run() }
                    return nil
                },
                Unmanaged.passRetained(start).toOpaque()
            )
            precondition(code == 0, "no thread: \(String(cString: strerror(code)))")
            return thread
        }
        for thread in threads { pthread_join(thread, nil) }
        return gathering.results.withLock { $0 }
    }
}
