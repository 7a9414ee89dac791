// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

/// A connection pool without connections, in which libcurl looks in vain for the last connection of an easy handle. Loop thread
/// only.
///
/// libcurl quirk: The last connection is looked for (7.88). A removed handle makes libcurl walk all connections to the one that
/// it used last (`close_connect_only`), unless it was asked for it (CURLINFO_ACTIVESOCKET) with a share whose pool is empty.
/// Tests: EmptyConnectionPoolTests.
final class EmptyConnectionPool {
    /// The number of connections up to which the walk costs less than the question.
    static let minimumConnections = 64

    private let share = CurlLibrary.looksForLastConnection ? ccurl_share_connections() : nil

    deinit {
        // libcurl refuses this while a handle has the share; each has it for one question only.
        if let share { curl_share_cleanup(share) }
    }

    /// Makes libcurl forget the last connection of a handle whose transfer has ended. The handle needs another share afterward.
    func forgetConnection(of curl: UnsafeMutableRawPointer) {
        guard let share, ccurl_set_pointer(curl, CURLOPT_SHARE, share) == CURLE_OK else { return }
        var socket: curl_socket_t = -1
        _ = ccurl_get_socket(curl, CURLINFO_ACTIVESOCKET, &socket)
    }
}
