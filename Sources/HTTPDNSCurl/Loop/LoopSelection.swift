// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The choice of the loop for a request: consistent hashing of the origin with bounded loads. A value type: it gets the activity
/// of the loops and the time with each request.
///
/// - Each origin has a home among the started loops (rendezvous hashing), and stays there until that loop is busy.
/// - From then on the origin is spread: its requests go to the loop with the fewest transfers, and among equals to one that has
///   a connection to the origin. It returns home once one loop could do the work of all for ``stay``. Without that delay it would
///   return as soon as the others have taken half of its work, and all of it would move back and forth.
/// - A loop starts when all started ones are busy, and none rests. So a program with little traffic has one loop, however many
///   origins it uses.
/// - A loop that cannot serve gets nothing for ``rest``: its transfers end immediately, and it would have the fewest. Its origins
///   have a home among the others meanwhile. When all loops rest, they all get requests again.
struct LoopSelection {
    /// The time for which an origin stays spread after the last time that one loop could not have done all the work.
    static let stay: Int64 = 1_000_000_000
    /// The maximum number of origins that are spread at a time. Others are spread only while their home is busy.
    static let maximumSpread = 1024

    /// The time for which a loop that failed gets no requests.
    static let rest: Int64 = 10_000_000_000

    /// The loops that exist, started or not. Each request of a spread origin chooses among them.
    private let allLoops: [Int]
    /// The number of loops that get requests.
    private(set) var started = 1
    /// The end of the time for which an origin is spread, by its hash.
    private var spreadUntil: [UInt64: Int64] = [:]
    /// The last of these ends.
    private var lastEnd = Int64.min
    /// The loop of the last request of a spread origin.
    private var lastSpread = 0
    /// The end of the rest of each loop that failed.
    private var restEnds: [Int: Int64] = [:]

    /// - Parameter count: The number of loops that exist, started or not.
    init(count: Int) { allLoops = Array(0..<max(1, count)) }

    /// Whether a loop rests.
    var hasResting: Bool { !restEnds.isEmpty }

    /// Notes that a loop could not start, or could not make a connection for a reason of its own.
    /// - Parameter isStarted: Whether its thread runs. Otherwise it does not count as started, if it was the last one.
    mutating func failed(_ loop: Int, isStarted: Bool, at now: Int64) {
        restEnds[loop] = now + LoopSelection.rest
        if !isStarted, loop == started - 1 { started = max(1, loop) }
    }

    /// Whether an origin is spread.
    var isSpreading: Bool { !spreadUntil.isEmpty }

    /// Returns the home of an origin among the first loops: the one with the highest weight (rendezvous hashing). One more loop
    /// takes its share of the origins from all others, and moves no other origin.
    static func home(of origin: UInt64, among loops: Int) -> Int {
        guard loops > 1 else { return 0 }
        return home(of: origin, among: 0..<loops)
    }

    private static func home(of origin: UInt64, among loops: some Sequence<Int>) -> Int {
        loops.max { weight(of: origin, on: $0) < weight(of: origin, on: $1) } ?? 0
    }

    /// Mixes the bits of an origin's hash and a loop's number (SplitMix64).
    private static func weight(of origin: UInt64, on loop: Int) -> UInt64 {
        var bits = origin &+ UInt64(loop + 1) &* 0x9e37_79b9_7f4a_7c15
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }

    /// Returns the loop for a request.
    /// - Parameters:
    ///   - origin: The hash of the origin.
    ///   - preferred: The loop that takes the place of the home, since it has an unused connection to the origin.
    ///   - activity: The activity of a loop.
    ///   - isConnected: Whether a loop has a connection to the origin.
    mutating func loop(
        for origin: UInt64,
        preferring preferred: Int? = nil,
        at now: Int64,
        activity: (Int) -> LoopActivity,
        isConnected: (Int) -> Bool
    ) -> Int {
        if hasResting { restEnds = restEnds.filter { now < $0.value } }
        var loops = hasResting ? candidates(isConnected) : startedLoops
        let preferred = preferred.flatMap { restEnds[$0] == nil || loops.contains($0) ? $0 : nil }
        let home = preferred ?? LoopSelection.home(of: origin, among: loops)
        let isHomeBusy = activity(home).isBusy(at: now)
        guard isSpread(origin, at: now) || isHomeBusy else { return home }
        if preferred != nil, !isHomeBusy { return home }
        // A new loop needs descriptors itself, which a loop that rests probably lacked.
        if started < allLoops.count, !hasResting, loops.allSatisfy({ activity($0).isBusy(at: now) }) {
            started += 1
            loops = startedLoops
        }
        let work = (0..<started).reduce(0) { $0 + activity($1).percent(at: now) }
        if isHomeBusy || work >= LoopActivity.busyPercent { spread(origin, at: now) }
        lastSpread = leastUsed(of: loops, activity, isConnected)
        return lastSpread
    }

    private var startedLoops: ArraySlice<Int> { allLoops[..<started] }

    /// Returns the started loops that do not rest, or all when all rest. While a loop rests, the process may have no descriptor
    /// left: then those with a connection to the origin come first, since the others could not open one.
    private func candidates(_ isConnected: (Int) -> Bool) -> ArraySlice<Int> {
        let working = startedLoops.filter { restEnds[$0] == nil }
        let loops = working.isEmpty ? startedLoops : working[...]
        let connected = loops.filter(isConnected)
        return connected.isEmpty ? loops : connected[...]
    }

    /// Returns the loop with the fewest transfers. Equal ones with a connection to the origin take turns.
    private func leastUsed(
        of loops: ArraySlice<Int>,
        _ activity: (Int) -> LoopActivity,
        _ isConnected: (Int) -> Bool
    ) -> Int {
        let least = loops.reduce(Int.max) { min($0, activity($1).transfers) }
        let idlest = loops.filter { activity($0).transfers == least }
        guard idlest.count > 1 else { return idlest.first ?? 0 }
        let connected = idlest.filter(isConnected)
        let equal = connected.isEmpty ? idlest : connected
        return equal.first { $0 > lastSpread } ?? equal[0]
    }

    private mutating func isSpread(_ origin: UInt64, at now: Int64) -> Bool {
        guard now < lastEnd else {
            spreadUntil.removeAll(keepingCapacity: true)
            return false
        }
        guard let end = spreadUntil[origin] else { return false }
        if now < end { return true }
        spreadUntil[origin] = nil
        return false
    }

    private mutating func spread(_ origin: UInt64, at now: Int64) {
        if spreadUntil.count >= LoopSelection.maximumSpread, spreadUntil[origin] == nil {
            spreadUntil = spreadUntil.filter { now < $0.value }
            guard spreadUntil.count < LoopSelection.maximumSpread else { return }
        }
        lastEnd = now + LoopSelection.stay
        spreadUntil[origin] = lastEnd
    }
}
