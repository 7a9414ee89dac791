// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import Synchronization

/// A row of counters that many threads increment concurrently, each mostly in its own stripe.
///
/// So threads rarely contend for a cache line. The sum over all stripes is exact; a stripe that two threads share is only
/// slower.
///
/// Sharing is safe: `cells` is set once, points to memory that lives as long as the object, and is read and written through
/// atomics only.
final class StripedCounters: @unchecked Sendable {
    /// A stripe begins on a boundary of two cache lines of 64 bytes, because processors fetch them in pairs.
    private static let alignment = 128

    private let cells: UnsafeMutablePointer<Atomic<Int>>
    private let count: Int
    private let cellsInStripe: Int
    private let stripes: Int
    private let shift: UInt64

    /// The memory of the counters, for callers that keep their owner alive by another reference.
    ///
    /// Counting a reference to the counters would be the only write that all threads share.
    struct Cells: Sendable {
        /// It lives as long as its ``StripedCounters``, and is read and written through atomics only.
        fileprivate nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
        fileprivate let count: Int
        fileprivate let cellsInStripe: Int
        fileprivate let shift: UInt64

        /// Adds one to a counter, as ``StripedCounters/add(_:to:)`` does.
        @inline(__always)
        func increment(_ index: Int) {
            precondition(index >= 0 && index < count, "there is no such counter")
            let stripe = StripedCounters.stripe(shift: shift)
            cells[stripe &* cellsInStripe &+ index].wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// Its memory. Valid as long as the counters themselves.
    var memory: Cells { Cells(cells: cells, count: count, cellsInStripe: cellsInStripe, shift: shift) }

    /// - Parameters:
    ///   - count: The number of counters.
    ///   - stripes: The number of threads that may count without contention, rounded up to a power of two.
    init(count: Int, stripes: Int = StripedCounters.defaultStripes) {
        let bits = max(1, Int.bitWidth - (max(2, stripes) - 1).leadingZeroBitCount)
        self.count = count
        self.stripes = 1 << bits
        shift = UInt64(UInt64.bitWidth - bits)
        let cellsInLine = StripedCounters.alignment / MemoryLayout<Atomic<Int>>.stride
        cellsInStripe = (count + cellsInLine - 1) / cellsInLine * cellsInLine
        let all = cellsInStripe * self.stripes
        cells = UnsafeMutableRawPointer.allocate(
            byteCount: all * MemoryLayout<Atomic<Int>>.stride,
            alignment: StripedCounters.alignment
        ).bindMemory(to: Atomic<Int>.self, capacity: all)
        for index in 0..<all { (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: cellsInStripe * stripes)
        UnsafeMutableRawPointer(cells).deallocate()
    }

    /// Four for each processor, so that threads rarely share one; with 16 counters these are 2 to 8 KiB.
    static let defaultStripes = min(64, max(16, 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// Adds to one counter. It wraps around at the end of `Int`, which a count of one per nanosecond reaches in 292 years.
    @inline(__always)
    func add(_ amount: Int = 1, to index: Int) {
        precondition(index >= 0 && index < count, "there is no such counter")
        cells[Self.stripe(shift: shift) &* cellsInStripe &+ index].wrappingAdd(amount, ordering: .relaxed)
    }

    /// Returns the sum of one counter over all stripes.
    func sum(_ index: Int) -> Int {
        precondition(index >= 0 && index < count, "there is no such counter")
        return (0..<stripes).reduce(0) { $0 &+ cells[$1 &* cellsInStripe &+ index].load(ordering: .relaxed) }
    }

    /// The stripe of the running thread. Threads are distinguished by the address of their control block. These addresses are
    /// whole pages apart, mostly at equal distances, and the multiplication by 2^64 / golden ratio distributes them evenly.
    @inline(__always)
    private static func stripe(shift: UInt64) -> Int {
        let thread = UInt64(pthread_self())
        return Int(truncatingIfNeeded: ((thread >> 12) &* 0x9e37_79b9_7f4a_7c15) >> shift)
    }
}

/// A row of counters for rare events: one atomic number each.
final class CounterRow: Sendable {
    private final class Cell: Sendable {
        let value = Atomic(0)
    }

    private let cells: [Cell]

    init(_ count: Int) { cells = (0..<count).map { _ in Cell() } }

    func add(_ amount: Int, to index: Int) { cells[index].value.wrappingAdd(amount, ordering: .acquiringAndReleasing) }

    subscript(index: Int) -> Int { cells[index].value.load(ordering: .acquiring) }
}
