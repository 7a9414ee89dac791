// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The addresses of a query, now and after each change; see ``HTTPDNSResolver/addresses(of:)``.
    ///
    /// - An iteration keeps its name in use while its next element is awaited: the answer is refreshed before it expires.
    /// - A change is another set of endpoints, whatever caused it: an answer, a mapping, a reload, the address policy, the kill
    ///   switch. It is delivered within ``interval``. Another order of the same endpoints is no change.
    /// - A name whose answers rotate changes at most once within ``stickiness``. The first change of an answer, and each one of
    ///   mappings, settings or the source, is delivered immediately.
    /// - A slow reader receives the newest addresses, and not those that it has missed.
    /// - Without addresses at first, the iteration throws ``HTTPDNSResolver/Error``, and another iteration may begin. Later
    ///   failures and empty answers deliver nothing: the last addresses stay in use.
    public struct AddressUpdates: AsyncSequence, Sendable {
        /// The addresses from a time on.
        public typealias Element = HTTPDNSResolver.Resolution

        /// The time between two looks at the addresses.
        ///
        /// A look costs a query to the cache, below a microsecond. Events would have to be made for each lookup of the process.
        public static let interval = Duration.milliseconds(500)

        /// The time for which the addresses of a name that rotates stay, as those of a client's connections do.
        public static let stickiness = Duration.seconds(30)

        let resolver: HTTPDNSResolver
        let query: HTTPDNSResolver.Query

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

        /// An iteration. It keeps its name in use while the next element is awaited.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let updates: AddressUpdates
            private var change = AddressChange()
            /// The time of the next look.
            private var nextLook: MonotonicTime?

            fileprivate init(updates: AddressUpdates) { self.updates = updates }

            /// Returns the addresses at first, and then as soon as they have changed.
            /// - Throws: ``HTTPDNSResolver/Error`` while there were no addresses yet, and after
            ///   ``HTTPDNSResolver/shutdown()``; `CancellationError` when the task is canceled.
            public mutating func next() async throws -> HTTPDNSResolver.Resolution? {
                let (resolver, query) = (updates.resolver, updates.query)
                let clock = resolver.fixed.timeSource
                while true {
                    if let nextLook { try await clock.sleep(until: nextLook) }
                    nextLook = clock.now() + AddressUpdates.interval
                    do {
                        var resolution = try await resolver.resolve(query)
                        if resolution.awaitsFamily {
                            // Else the other family would be a change.
                            resolution = await resolver.completedResolution(for: query) ?? resolution
                        }
                        if change.isNew(resolution, at: clock.now()) { return resolution }
                    } catch let error as HTTPDNSResolver.Error {
                        guard change.hasAddresses, error.code != .shutDown else { throw error }
                    }
                }
            }
        }
    }
}

/// The properties that comparable answers share: another source, or other mappings, mean a new decision of the operator.
package struct AnswerProvenance: Hashable, Sendable {
    package var isSystem: Bool
    /// Whether a mapping led to it, which the kill switch and requests for the system resolver skip.
    package var isMapped: Bool
    package var generation: UInt64

    package init(isSystem: Bool, isMapped: Bool = false, generation: UInt64) {
        self.isSystem = isSystem
        self.isMapped = isMapped
        self.generation = generation
    }

    /// Creates nil for explicitly configured addresses, which are followed immediately.
    package init?(_ resolution: HTTPDNSResolver.Resolution) {
        switch resolution.source {
        case .provider: isSystem = false
        case .system: isSystem = true
        default: return nil
        }
        isMapped = resolution.isMapped
        generation = resolution.generation
    }
}

/// Whether a resolution is a change of the addresses that were delivered last. A value that receives times.
struct AddressChange: Sendable {
    private var delivered: (endpoints: Set<HTTPDNSEndpoint>, provenance: AnswerProvenance?)?
    /// The time of the last change to other answers of the same provenance.
    private var movedAt: MonotonicTime?

    var hasAddresses: Bool { delivered != nil }

    mutating func isNew(_ resolution: HTTPDNSResolver.Resolution, at now: MonotonicTime) -> Bool {
        let (endpoints, provenance) = (Set(resolution.endpoints), AnswerProvenance(resolution))
        guard let last = delivered else {
            delivered = (endpoints, provenance)
            return true
        }
        let isDecision = provenance == nil || provenance != last.provenance
        if endpoints != last.endpoints, !isDecision, let movedAt,
            now - movedAt < HTTPDNSResolver.AddressUpdates.stickiness
        {
            return false
        }
        delivered = (endpoints, provenance)
        guard endpoints != last.endpoints else { return false }
        movedAt = isDecision ? nil : now
        return true
    }
}
