internal import HTTPDNSPrimitives

/// The cached check for a route to IPv6 addresses, repeated at most every ten seconds.
final class IPv6Route: Sendable {
    /// The validity of a check. Routes change, and a check takes some microseconds.
    static let life: Duration = .seconds(10)

    private let look: @Sendable () -> Bool
    private let known = Lock<(exists: Bool, until: MonotonicTime)?>(nil)

    init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

    func exists(at now: MonotonicTime) -> Bool {
        if let known = known.withLock({ $0 }), now < known.until { return known.exists }
        let exists = look()
        known.withLock { $0 = (exists, now + IPv6Route.life) }
        return exists
    }
}
