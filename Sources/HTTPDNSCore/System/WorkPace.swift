// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
package import HTTPDNSPrimitives
internal import Synchronization

/// The pace of long work beside requests: a pause after each stretch of work.
///
/// The kernel takes a thread of the usual priority off a processor at its next tick, up to 4 ms later. Until then a request
/// that needs the processor waits. So long work calls ``pauseIfDue()`` in its loops, and sleeps. A lower priority is no remedy: a
/// thread without a processor keeps the locks of the allocator that it has.
package final class WorkPace: Sendable {
    /// The pace of the work on the current thread; nil for work that goes on without a pause.
    @TaskLocal private static var current: WorkPace?

    private let work: Int64
    private let time: any TimeSource
    private let rest: @Sendable () -> Void
    /// The end of the present stretch, in nanoseconds. One thread uses it.
    private let stretchEnd: Atomic<Int64>

    /// - Parameters:
    ///   - work: The length of a stretch.
    ///   - rest: Sleeps; with the kernel's timer slack some 0.1 ms.
    package init(
        work: Duration = .microseconds(200),
        time: any TimeSource = SystemTimeSource(),
        rest: @escaping @Sendable () -> Void = { usleep(50) }
    ) {
        self.work = work.wholeNanoseconds
        self.time = time
        self.rest = rest
        stretchEnd = Atomic(time.now().nanoseconds + work.wholeNanoseconds)
    }

    /// Runs `body` on the calling thread, at this pace.
    package func run<Value>(_ body: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self, operation: body)
    }

    /// Sleeps if the current thread works at a pace and its stretch is over. Called for each piece of a few microseconds.
    @inline(__always)
    package static func pauseIfDue() { current?.pauseIfDue() }

    private func pauseIfDue() {
        guard time.now().nanoseconds >= stretchEnd.load(ordering: .relaxed) else { return }
        rest()
        stretchEnd.store(time.now().nanoseconds + work, ordering: .relaxed)
    }
}
