// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// A positive answer as it is kept outside of the process, with calendar times: no other clock is valid across processes.
public struct HTTPDNSStoredResolution: Hashable, Sendable {
    /// The queried name.
    public var host: HTTPDNSName
    /// The queried families; all ``addresses`` are of these.
    public var families: HTTPDNSAddress.Families
    /// A text that identifies the source of the answer: a digest of the provider's service, account and region, without secrets.
    ///
    /// An answer is not used when no provider of the name's route has the same source.
    public var route: String
    /// The client network of the query (RFC 7871); nil when none was sent.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// The addresses, in the answer's order; at least one.
    public var addresses: [HTTPDNSAddress]
    /// The name of the provider that answered.
    public var provider: String
    /// The most private scope that the provider was allowed to answer at that time; nil when that is not known.
    public var providerScope: HTTPDNSAddressPolicy.Scope?
    /// The name at the end of the alias chain; nil when the answer had no alias.
    public var canonicalName: HTTPDNSName?
    /// The time the query was sent, in milliseconds since 1970-01-01 00:00 UTC.
    public var receivedAt: Int64
    /// The lifetime of the answer from then on. Stores keep whole nanoseconds.
    public var timeToLive: Duration

    /// Creates a stored answer. Nothing is checked; stores leave out invalid answers.
    public init(
        host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        route: String,
        clientSubnet: HTTPDNSAddressBlock? = nil,
        addresses: [HTTPDNSAddress],
        provider: String,
        providerScope: HTTPDNSAddressPolicy.Scope? = nil,
        canonicalName: HTTPDNSName? = nil,
        receivedAt: Int64,
        timeToLive: Duration
    ) {
        self.host = host
        self.families = families
        self.route = route
        self.clientSubnet = clientSubnet
        self.addresses = addresses
        self.provider = provider
        self.providerScope = providerScope
        self.canonicalName = canonicalName
        self.receivedAt = receivedAt
        self.timeToLive = timeToLive
    }
}

extension HTTPDNSStoredResolution {
    /// The key of a stored answer; there is one answer for each.
    struct Key: Hashable {
        let host: HTTPDNSName
        let families: HTTPDNSAddress.Families
        let route: String
        let clientSubnet: HTTPDNSAddressBlock?
    }

    var key: Key { Key(host: host, families: families, route: route, clientSubnet: clientSubnet) }

    /// Returns the newest answer for each key, newest first, `limit` at most.
    static func freshest(of resolutions: [HTTPDNSStoredResolution], limit: Int) -> [HTTPDNSStoredResolution] {
        // Answers of the same time keep their order, so that the result does not depend on the sorting algorithm.
        let sorted = resolutions.enumerated().sorted { left, right in
            (right.element.receivedAt, left.offset) < (left.element.receivedAt, right.offset)
        }
        var seen: Set<Key> = []
        var freshest: [HTTPDNSStoredResolution] = []
        for (_, resolution) in sorted {
            guard freshest.count < limit else { break }
            if seen.insert(resolution.key).inserted { freshest.append(resolution) }
        }
        return freshest
    }
}

extension HTTPDNSStoredResolution {
    /// The maximum step back of the calendar time between saving and loading for an answer to count as fresh.
    ///
    /// Kerberos and many others tolerate the same difference between two clocks. NTP steps are smaller.
    static let toleratedClockDifference: Duration = .seconds(300)

    /// Converts the answer's times from the calendar to the clock of this process.
    ///
    /// The calendar time is unreliable, so an error of it must never make an answer seem younger than it can be:
    /// - An answer from the past has lost the time that passed.
    /// - An answer from the future, by ``toleratedClockDifference`` at most, was written before the clock was set back. The
    ///   time that really passed is unknown; the difference of the clocks is subtracted.
    /// - An answer from further ahead is never fresh. It may be served as stale, as if its lifetime had ended just now.
    ///
    /// - Parameters:
    ///   - wallNow: The calendar time, in milliseconds since 1970.
    ///   - monotonicNow: The same time on the clock of this process.
    ///   - staleLimit: The time past its lifetime that an answer may be served.
    ///   - maximumTimeToLive: The maximum lifetime of any answer; the settings may have changed since it was saved.
    /// - Returns: The time the query was sent, never in the future; and the end of the lifetime, not after now for an answer that may
    ///   only be served as stale. Nil when the answer can no longer be served, because its lifetime ended `staleLimit` ago or
    ///   earlier.
    func restored(
        wallNow: Int64,
        monotonicNow: MonotonicTime,
        staleLimit: Duration,
        maximumTimeToLive: Duration
    ) -> (sentAt: MonotonicTime, expiresAt: MonotonicTime)? {
        let life = min(max(timeToLive, .zero), max(maximumTimeToLive, .zero))
        let (difference, overflow) = wallNow.subtractingReportingOverflow(receivedAt)
        let sinceReceived = Duration.milliseconds(overflow ? (wallNow < receivedAt ? .min : .max) : difference)

        var age = sinceReceived
        if age < .zero {
            let ahead = .zero - age
            age = ahead <= Self.toleratedClockDifference ? ahead : life
        }
        let left = life - age
        guard left > .zero || .zero - left < staleLimit else { return nil }
        return (monotonicNow + (.zero - age), monotonicNow + left)
    }
}

/// A store that keeps answers across restarts, or for other processes: see ``HTTPDNSDiskStore``.
///
/// A store is an optional copy, and no request depends on it. A resolver loads it once when it starts, saves to it at
/// intervals, and continues without it when it is slow, empty or broken. Its contents are checked again before they are used:
/// the address policy and the limits of the cache apply to them.
public protocol HTTPDNSResolutionStore: Sendable {
    /// Returns all answers that were saved last, in no particular order; none when nothing was saved yet.
    /// - Throws: ``HTTPDNSResolutionStoreError`` when the contents cannot be read or cannot be trusted as a whole, and
    ///   `CancellationError`.
    func load() async throws -> [HTTPDNSStoredResolution]

    /// Replaces the earlier contents. A store with limits keeps the answers that were received last.
    ///
    /// After an error the store has the earlier contents or the new ones, never a part of them.
    /// - Throws: ``HTTPDNSResolutionStoreError``, and `CancellationError`. A save that has begun may still complete then.
    func save(_ resolutions: [HTTPDNSStoredResolution]) async throws
}

/// An error while answers were loaded or saved. The resolver logs a warning and continues without the saved answers.
public struct HTTPDNSResolutionStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// The store could not be reached or read.
        public static let notReadable = Code(description: "not-readable")
        /// The store could not be written. The earlier contents are still there.
        public static let notWritable = Code(description: "not-writable")
        /// The stored data is truncated, altered, or in no known format. No part of it is used.
        public static let corrupt = Code(description: "corrupt")
        /// The stored data has a format that this version does not support.
        public static let unsupportedVersion = Code(description: "unsupported-version")
        /// The stored data is larger than the limit. No part of it is used.
        public static let tooLarge = Code(description: "too-large")
        /// The stored data can be altered by others: another owner, a file that others may write, a symbolic link.
        public static let unsafePermissions = Code(description: "unsafe-permissions")
    }

    /// The kind of failure.
    public var code: Code
    /// The file concerned; nil for a store that is no file.
    public var path: String?
    /// One readable line: where, the finding, the suggested action.
    public var message: String

    /// Creates an error.
    public init(code: Code, path: String? = nil, message: String) {
        self.code = code
        self.path = path
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
