// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// A store of TLS sessions that one connection at a time may resume and add to (CURLOPT_SHARE). Handles of several loops may
/// have the same store, so the share has locks: for the sessions, and for its count of handles.
///
/// libcurl quirk: Sessions belong to a handle (7.88; 8.14 resumes across targets). libcurl keeps a TLS session in its handle.
/// So sessions are in a share that belongs to a pin's name on all loops, with lock functions, used by one transfer at a time.
/// Tests: TLSSessionTests.
final class TLSSessions: Sendable {
    /// The share; `nil` when libcurl created none. Handles then keep their sessions themselves. The pointer never changes, and
    /// libcurl locks what it leads to.
    nonisolated(unsafe) private let share: UnsafeMutableRawPointer?
    /// The locks of the share, and whether libcurl has accessed the store. It does so when it connects and when a session arrives.
    /// With TLS 1.3 that may be on the first request of a connection that another transfer made. The pointer never changes.
    nonisolated(unsafe) private let locks: UnsafeMutablePointer<ccurl_session_locks>
    private let inUse = Atomic<Bool>(true)
    private let listed = Atomic<Bool>(false)

    /// Whether a transfer uses the store.
    fileprivate var isInUse: Bool {
        get { inUse.load(ordering: .relaxed) }
        set { inUse.store(newValue, ordering: .relaxed) }
    }
    /// Whether the store is among those that wait for a transfer.
    fileprivate var isListed: Bool {
        get { listed.load(ordering: .relaxed) }
        set { listed.store(newValue, ordering: .relaxed) }
    }

    /// Whether the store certainly has no session.
    var isEmpty: Bool { !ccurl_sessions_used(locks) }

    init() {
        locks = .allocate(capacity: 1)
        ccurl_init_session_locks(locks)
        share = ccurl_share_sessions(locks)
    }

    deinit {
        // libcurl refuses this while a handle has the share; each keeps a reference until it has another.
        if let share { curl_share_cleanup(share) }
        ccurl_destroy_session_locks(locks)
        locks.deallocate()
    }

    /// Notes that libcurl has accessed the store.
    func noteUse() { ccurl_note_sessions_used(locks) }

    /// Sets the store that a handle uses from now on.
    func use(by curl: UnsafeMutableRawPointer) {
        if let share { _ = ccurl_set_pointer(curl, CURLOPT_SHARE, share) }
    }
}

/// The session stores of one pin. Each transfer gets its own: two connections that resume the same session concurrently make it
/// unusable for the next (OpenSSL 3.0: of 1,000 connections by 16 at a time over one share 200 were not resumed).
struct TLSSessionPool {
    /// The maximum number of stores that wait for transfers of other handles; each takes about 4 KB.
    private static let maximumWaiting = 4

    private var waiting: [TLSSessions] = []

    /// - Parameter own: The handle's last store, if it is from this pool or still empty: keeping it costs nothing.
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

/// The session stores of one pin, or of the pins of several loops under one name.
final class SharedTLSSessions: Sendable {
    private let pool = Lock(TLSSessionPool())

    /// See ``TLSSessionPool/take(_:)``.
    func take(_ own: TLSSessions?) -> TLSSessions { pool.withLock { $0.take(own) } }

    func giveBack(_ sessions: TLSSessions) { pool.withLock { $0.giveBack(sessions) } }
}

/// The file of TLS secrets that libcurl writes if the environment has `SSLKEYLOGFILE`.
enum KeyLog {
    /// `SSL_CTX_set_keylog_callback` of the OpenSSL that libcurl is linked with; nil without one.
    private static let setCallback: (@convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Void)? =
        try? DynamicLibrary.program.function("SSL_CTX_set_keylog_callback")

    /// Removes the callback that libcurl has set on a TLS context, before its first handshake.
    ///
    /// libcurl quirk: Secrets are written to a file (7.88). libcurl writes TLS secrets to the file of `SSLKEYLOGFILE`
    /// (`ossl_connect_step1`). The callback is removed unless the settings ask for it, and an empty file remains.
    /// Tests: ServerTests.
    static func prevent(on context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        setCallback?(context, nil)
    }
}
