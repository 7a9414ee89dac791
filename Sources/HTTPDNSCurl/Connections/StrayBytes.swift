internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

// Bytes that a server sends on a connection that carries no request: a 408 before it closes the connection, a response too many. Over
// HTTP/1.x libcurl 7.88 takes them for the response to the next request.

extension EasyHandle {
    /// Whether the connection that carries the request serves one at a time.
    ///
    /// A connection without a version yet has never had a response head. If it was kept all the same, it speaks HTTP/2: libcurl
    /// closes one of HTTP/1.x with the request that ended early, and a connection that was made ahead knows its version from TLS.
    var isOverHTTP1: Bool {
        if let version = connection?.version { return version != .http2 }
        guard let request = transfer?.request else { return false }
        switch request.versions.kind {
        case .automatic, .inherited: return request.url.scheme == .http
        case .http1Only, .http10Only: return true
        case .http2Only: return false
        }
    }

    /// Whether the kept connection that libcurl took has bytes that no request asked for.
    var meetsStrayBytes: Bool {
        guard !hasOpenedConnection, isOverHTTP1 else { return false }
        if hasDecryptedBytes { return true }
        guard let connection else {
            // Of several Unix sockets it is not known which one carries the request.
            return pin?.connections.all.contains { $0.transfers == 0 && receivedBytes(of: $0.descriptor) > 0 } == true
        }
        guard let expected = connection.expectedBytes else { return false }
        if loop.driver?.isSilent(connection.descriptor) == true { return false }
        return receivedBytes(of: connection.descriptor) > expected
    }

    /// Whether bytes behind the last response lie in OpenSSL: libcurl reads a body's last piece to its end, and a TLS record may have more.
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

/// Connections made ahead over TLS, until the bytes are counted that their handshake leaves unread.
struct UncountedConnections {
    /// Session tickets of TLS 1.3 follow the handshake within a round trip.
    private static let delay: Int64 = 1_000_000_000

    private var entries: [(connection: Connection, countsAt: Int64)] = []

    /// The moment when the first of them is due; `Int64.max` without one.
    var nextAt: Int64 { entries.first?.countsAt ?? .max }

    /// A handshake is over.
    mutating func append(_ connection: Connection, at now: Int64) {
        connection.expectedBytes = nil
        entries.append((connection, now + UncountedConnections.delay))
    }

    /// Counts the bytes of those that are due and have not carried a request meanwhile.
    mutating func count(at now: Int64) {
        guard nextAt <= now else { return }
        let due = entries.prefix { $0.countsAt <= now }
        for (connection, _) in due where connection.expectedBytes == nil && connection.descriptor >= 0 {
            connection.expectedBytes = receivedBytes(of: connection.descriptor)
        }
        entries.removeFirst(due.count)
    }
}
