internal import CHTTPDNSCurl

/// How many connections libcurl keeps.
///
/// Its own limit (CURLMOPT_MAXCONNECTS) counts those in use too: 2,000 requests that wait for an answer would leave no room for a
/// single idle connection, and each other request would dial anew. So the limit follows the transfers that run. Streams that
/// share a connection (HTTP/2) count each, so that beside many of them more connections may stay than the limit says, until they are
/// idle for too long.
struct IdleRoom {
    private let maximumIdle: Int
    private var limit = 0

    init(maximumIdle: Int) {
        self.maximumIdle = maximumIdle
    }

    /// - Parameter running: Transfers that libcurl has, one of which may be the next to give its connection back.
    mutating func keep(besides running: Int32, in multi: UnsafeMutableRawPointer) {
        // To libcurl 0 is a limit of its own making.
        let limit = max(1, maximumIdle + max(0, Int(running) - 1))
        guard limit != self.limit else { return }
        self.limit = limit
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limit)
    }
}
