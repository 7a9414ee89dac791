internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

// A server may send bytes on a connection that carries no request: a 408 before it closes the connection, or an extra response.
// Over HTTP/1.x libcurl 7.88 reads them as the response to the next request.

extension EasyHandle {
    /// Whether the request's connection serves one request at a time.
    ///
    /// A connection whose version is unknown has never had a response head. If it was kept anyway, it uses HTTP/2: libcurl
    /// closes an HTTP/1.x connection whose request ended early, and a preconnected one knows its version from TLS.
    var isOverHTTP1: Bool {
        if let version = connection?.version { return version != .http2 }
        guard let request = transfer?.request else { return false }
        switch request.versions.kind {
        case .automatic, .inherited: return request.url.scheme == .http
        case .http1Only, .http10Only: return true
        case .http2Only: return false
        }
    }

    /// Whether the kept connection that libcurl chose has bytes that belong to no request.
    var meetsStrayBytes: Bool {
        guard !hasOpenedConnection, isOverHTTP1 else { return false }
        if hasDecryptedBytes { return true }
        guard let connection else {
            // With several Unix sockets it is unknown which one carries the request.
            return pin?.connections.all.contains { $0.transfers == 0 && receivedBytes(of: $0.descriptor) > 0 } == true
        }
        guard let expected = connection.expectedBytes else { return false }
        if loop.driver?.isSilent(connection.descriptor) == true { return false }
        return receivedBytes(of: connection.descriptor) > expected
    }

    /// Whether OpenSSL holds bytes after the last response: libcurl reads a body only to its end, and a TLS record may contain
    /// more.
    private var hasDecryptedBytes: Bool {
        guard transfer?.request.isOverTLS == true, let openSSLPending, let openSSL = ccurl_get_openssl(curl) else {
            return false
        }
        return openSSLPending(openSSL) > 0
    }
}

/// `SSL_pending` of the OpenSSL that libcurl is linked with; nil without one. It reads nothing from the connection.
private let openSSLPending: (@convention(c) (UnsafeMutableRawPointer) -> Int32)? = dlsym(nil, "SSL_pending").map {
    unsafeBitCast($0, to: (@convention(c) (UnsafeMutableRawPointer) -> Int32).self)
}

/// TLS connections that were made ahead, until the bytes that their handshake leaves unread are counted.
struct UncountedConnections {
    /// The delay until the count. TLS 1.3 session tickets follow the handshake within a round trip.
    private static let delay: Int64 = 1_000_000_000

    private var entries: [(connection: Connection, countsAt: Int64)] = []

    /// The time at which the first connection is due; `Int64.max` without one.
    var nextAt: Int64 { entries.first?.countsAt ?? .max }

    /// Adds a connection whose handshake is complete.
    mutating func append(_ connection: Connection, at now: Int64) {
        connection.expectedBytes = nil
        entries.append((connection, now + UncountedConnections.delay))
    }

    /// Counts the bytes of the due connections that have not carried a request meanwhile.
    mutating func count(at now: Int64) {
        guard nextAt <= now else { return }
        let due = entries.prefix { $0.countsAt <= now }
        for (connection, _) in due where connection.expectedBytes == nil && connection.descriptor >= 0 {
            connection.expectedBytes = receivedBytes(of: connection.descriptor)
        }
        entries.removeFirst(due.count)
    }
}
