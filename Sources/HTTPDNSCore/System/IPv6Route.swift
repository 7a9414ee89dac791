internal import HTTPDNSPrimitives

/// Whether this machine has a route to IPv6 addresses, looked at again at most every ten seconds.
final class IPv6Route: Sendable {
    /// Routes come and go, and a look takes some microseconds.
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
