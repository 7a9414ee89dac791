internal import CHTTPDNSCurl

/// A transfer that makes libcurl check its idle connections.
///
/// libcurl closes dead, old and idle connections only when it looks for a connection, so a process without traffic would keep
/// all of its sockets. This transfer looks for a connection and has no other effect: its name cannot be looked up, and it
/// ends before there is a socket. libcurl 7.88 checks at most once a second.
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
        _ = ccurl_set_long(curl, CURLOPT_DNS_CACHE_TIMEOUT, -1)
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
