// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// The sweeps of a loop, at which libcurl closes connections that were idle for too long or are dead.
struct IdleSweep {
    /// The shortest interval: libcurl checks its connections at most once a second.
    private static let shortest: Int64 = 1_100_000_000
    private static let longest: Int64 = 15_000_000_000

    private var reaper: IdleConnectionReaper?
    /// The time of the next sweep; `Int64.max` when there is nothing to check.
    private(set) var at = Int64.max

    /// Begins the sweeps, if they have not begun.
    /// - Parameter hasShut: Whether there are connections that were shut down, and that libcurl has not closed.
    mutating func begin(at now: Int64, idleLimit: Duration, hasShut: Bool) {
        guard at == .max else { return }
        let quarter = min(max(idleLimit.wholeNanoseconds / 4, IdleSweep.shortest), IdleSweep.longest)
        at = now + (hasShut ? IdleSweep.shortest : quarter)
    }

    /// Moves the next sweep forward, for connections that were shut down.
    mutating func hurry(at now: Int64) { at = min(at, now + IdleSweep.shortest) }

    mutating func end() { at = .max }

    /// Returns the transfer that makes libcurl check its connections.
    mutating func transfer(_ configuration: TransportConfiguration) -> IdleConnectionReaper? {
        if reaper == nil { reaper = IdleConnectionReaper(configuration) }
        return reaper
    }

    func stop(_ multi: UnsafeMutableRawPointer) { reaper?.stop(multi) }
}

extension TransportConfiguration {
    // libcurl quirk: Age limits skip busy connections (7.88.1). libcurl checks the age of idle connections only, in
    // whole seconds, and 0 is no limit. The loop retires the pin of a shared connection. Tests: RetiredConnectionTests,
    // RetiredSharedConnectionTests.
    /// The idle limit for libcurl, which closes a connection when more seconds have elapsed.
    var idleSeconds: Int { max(0, Int(idleLimit.components.seconds) - 1) }
    /// The maximum age for libcurl.
    var lifeSeconds: Int { max(1, Int(maximumAge.components.seconds) - 1) }
}

/// A transfer that makes libcurl check its idle connections. It has no other effect: it ends before there is a socket.
///
/// libcurl quirk: Idle connections stay open (7.88). libcurl closes dead, old and idle connections only when it looks
/// for one. A transfer that cannot be looked up makes it look. Tests: RetiredConnectionTests.
final class IdleConnectionReaper {
    private let curl: UnsafeMutableRawPointer
    private var isRunning = false

    init?(_ configuration: TransportConfiguration) {
        guard let curl = curl_easy_init() else { return nil }
        self.curl = curl
        _ = ccurl_set_string(curl, CURLOPT_URL, "http://sweep.invalid/")
        _ = ccurl_set_string(curl, CURLOPT_PROXY, "")
        _ = ccurl_set_resolver_start_function(curl, refuseLookup)
        _ = ccurl_set_long(curl, CURLOPT_NOSIGNAL, 1)
        // Otherwise it would remove the pins' entries from libcurl's table when they are a minute old.
        _ = ccurl_set_long(curl, CURLOPT_DNS_CACHE_TIMEOUT, CurlLibrary.endlessEntries)
        _ = ccurl_set_long(curl, CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        _ = ccurl_set_long(curl, CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
    }

    deinit { curl_easy_cleanup(curl) }

    func start(_ multi: UnsafeMutableRawPointer) {
        guard !isRunning else { return }
        isRunning = curl_multi_add_handle(multi, curl) == CURLM_OK
    }

    func stop(_ multi: UnsafeMutableRawPointer) {
        guard isRunning else { return }
        isRunning = false
        curl_multi_remove_handle(multi, curl)
    }
}
