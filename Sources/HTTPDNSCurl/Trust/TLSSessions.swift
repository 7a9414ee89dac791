internal import CHTTPDNSCurl

/// TLS sessions that one connection at a time may resume and add to (CURLOPT_SHARE). Loop thread only.
///
/// libcurl 7.88 keeps a session with the easy handle that made it, known by the URL's host and the name that its pool knows. Another
/// handle would not resume it; and once that name stands for another endpoint of the host, it would be offered to a server that
/// it was not made with. So sessions belong to a pin.
final class TLSSessions {
    /// Nil when libcurl gave none; handles then keep their sessions themselves.
    private let share: UnsafeMutableRawPointer?
    /// Whether libcurl has looked into them, which it does when it connects and when a session comes: with TLS 1.3 that may be on
    /// the first request of a connection that another transfer made.
    private let used: UnsafeMutablePointer<Bool>
    /// Whether a transfer has them.
    fileprivate var isInUse = true
    /// Whether they stand among those that wait for a transfer.
    fileprivate var isListed = false

    /// Whether there can be no session.
    var isEmpty: Bool { !used.pointee }

    init() {
        used = .allocate(capacity: 1)
        used.initialize(to: false)
        share = ccurl_share_sessions(used)
    }

    deinit {
        // libcurl refuses this while a handle has it; each keeps a reference until it has another.
        if let share { curl_share_cleanup(share) }
        used.deallocate()
    }

    /// libcurl has looked into them.
    func noteUse() { used.pointee = true }

    /// What a handle uses from now on.
    func use(by curl: UnsafeMutableRawPointer) {
        if let share { _ = ccurl_set_pointer(curl, CURLOPT_SHARE, share) }
    }
}

/// The sessions of one pin. Each transfer gets some of its own: two connections that resume the same session at once spoil it for
/// the next (OpenSSL 3.0: of 1,000 connections by 16 at a time over one share 200 were not resumed).
struct TLSSessionPool {
    /// How many wait for transfers of other handles; each takes about 4 KB.
    private static let maximumWaiting = 4

    private var waiting: [TLSSessions] = []

    /// - Parameter own: What the handle had last, when that is from this pool or still empty: it costs nothing to go on with.
    mutating func take(_ own: TLSSessions?) -> TLSSessions {
        if let own, !own.isInUse, !own.isEmpty {
            own.isInUse = true
            return own
        }
        while let next = waiting.popLast() {
            next.isListed = false
            guard !next.isInUse else { continue }
            next.isInUse = true
            return next
        }
        guard let own, !own.isInUse else { return TLSSessions() }
        own.isInUse = true
        return own
    }

    mutating func giveBack(_ sessions: TLSSessions) {
        sessions.isInUse = false
        guard !sessions.isEmpty, !sessions.isListed, waiting.count < TLSSessionPool.maximumWaiting else { return }
        sessions.isListed = true
        waiting.append(sessions)
    }
}
