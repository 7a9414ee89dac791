// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

/// A connection pool without connections, in which libcurl looks in vain for the last connection of an easy handle. Loop thread
/// only.
///
/// libcurl 7.88 keeps the number of the connection that a handle used last. When the handle is removed, libcurl walks all
/// connections of the multi handle to find it (LibcurlQuirks.md: the last connection is looked for). A question for the
/// connection (CURLINFO_ACTIVESOCKET) has libcurl look in the pool of the handle's share instead, and forget the number because
/// it is not there.
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
