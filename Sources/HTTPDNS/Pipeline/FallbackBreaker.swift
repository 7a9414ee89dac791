// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The hosts whose requests use the addresses of the system resolver directly, because a provider's addresses refused
/// connections and the system's did not. A value that receives events and times.
///
/// After such a fallback all requests to the host take the system path for 30 s. Then one request tries the provider's
/// addresses, and the others stay. If it has to fall back as well, the time doubles, up to 5 minutes. A failing
/// provider therefore costs one request its connect timeout, and not each.
struct FallbackBreaker: Sendable {
    /// The addresses that a request tries first.
    enum Path: Equatable, Sendable {
        /// The given addresses; no failure of them is known.
        case given
        /// The given addresses, as a trial for all other requests. Its result must be recorded.
        case trial
        /// The addresses of the system resolver.
        case system
    }

    private struct Entry: Sendable {
        var until: MonotonicTime
        var rest: Duration
        var isTried = false
    }

    static let shortestRest = Duration.seconds(30)
    static let longestRest = Duration.seconds(300)
    /// The maximum number of remembered hosts. An entry takes about 100 bytes; with more failing hosts, each forgotten
    /// one costs another fallback.
    static let maximumEntries = 4096

    private var entries: [HopOrigin: Entry] = [:]

    var count: Int { entries.count }

    mutating func path(for origin: HopOrigin, at now: MonotonicTime) -> Path {
        guard let entry = entries[origin] else { return .given }
        guard now >= entry.until, !entry.isTried else { return .system }
        entries[origin]?.isTried = true
        return .trial
    }

    /// Records that the given addresses refused connections, and the system's responded. Several requests that find
    /// this out together count once.
    mutating func recordSystemFallback(_ origin: HopOrigin, at now: MonotonicTime) {
        if let entry = entries[origin] {
            guard now >= entry.until else { return }
            let rest = min(entry.rest * 2, FallbackBreaker.longestRest)
            entries[origin] = Entry(until: now + rest, rest: rest)
            return
        }
        if entries.count >= FallbackBreaker.maximumEntries,
            let any = entries.min(by: { $0.value.until < $1.value.until })
        {
            entries[any.key] = nil
        }
        let rest = FallbackBreaker.shortestRest
        entries[origin] = Entry(until: now + rest, rest: rest)
    }

    /// Records that the given addresses responded, or that the system's failed as well.
    mutating func forget(_ origin: HopOrigin) {
        entries[origin] = nil
    }

    /// Records that a trial ended without a result about the addresses, such as by cancellation: the next request is a
    /// trial.
    mutating func trialSaidNothing(_ origin: HopOrigin) {
        entries[origin]?.isTried = false
    }
}
