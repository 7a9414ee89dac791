internal import CHTTPDNSCurl

/// The limit of connections that libcurl keeps.
///
/// libcurl's own limit (CURLMOPT_MAXCONNECTS) also counts those in use: 2,000 pending requests would leave no room for a
/// single idle connection, and every other request would connect again. So the limit follows the running transfers. Streams
/// that share a connection (HTTP/2) count individually. Beside many of them more connections than the limit may stay, until
/// they are idle for too long.
struct IdleConnectionLimit {
    private let maximumIdle: Int
    private var limit = 0

    init(maximumIdle: Int) {
        self.maximumIdle = maximumIdle
    }

    /// - Parameter running: The transfers in libcurl, one of which may be the next to release its connection.
    mutating func keep(besides running: Int32, in multi: UnsafeMutableRawPointer) {
        // For libcurl 0 selects a limit of its own.
        let limit = max(1, maximumIdle + max(0, Int(running) - 1))
        guard limit != self.limit else { return }
        self.limit = limit
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limit)
    }
}
