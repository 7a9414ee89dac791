// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An origin's log line about one request: the proof of its address and host name.
public struct AccessLogLine: Sendable, Hashable, Decodable {
    /// The time at which the response had been sent, in seconds since 1970.
    public let time: Double
    /// The duration of the request from its first byte, in seconds.
    public let duration: Double
    /// The address that the request reached.
    public let address: String
    /// The port that the request reached.
    public let port: UInt16
    /// The server name of the handshake; empty when there was none.
    public let sni: String
    /// The Host field, or `:authority`.
    public let host: String
    /// The request line, such as `GET /a.jpg HTTP/2.0`.
    public let request: String
    /// `HTTP/1.1` or `HTTP/2.0`.
    public let `protocol`: String
    /// The status.
    public let status: Int
    /// Bytes of the request, head and body.
    public let received: Int
    /// Bytes of the response, head and body.
    public let sent: Int
    /// Bytes of the response's body.
    public let bodySent: Int
    /// The client's address.
    public let client: String
    /// The client's port: with `client`, a name for the connection on the client's side.
    public let clientPort: UInt16
    /// The connection's number, unique in one run of the server.
    public let connection: Int
    /// The number of the request on its connection, from 1.
    public let requestOnConnection: Int
    /// `TLSv1.3`; empty for clear text.
    public let tls: String
    /// `r` when the TLS session was resumed, `.` when not.
    public let sessionReused: String
    /// The TLS session's identifier; empty for clear text.
    public let sessionID: String
    /// The subject of the client's certificate, such as `CN=tenant-a`; empty without one.
    public let clientSubject: String
    /// `SUCCESS`, `NONE` or `FAILED:` and the reason.
    public let clientVerification: String
    /// The User-Agent field.
    public let userAgent: String
    /// The traceparent field of W3C Trace Context; empty without one.
    public let traceparent: String
    /// The baggage field of W3C Baggage; empty without one.
    public let baggage: String
    /// The Range field.
    public let range: String
    /// The If-Range field.
    public let ifRange: String

    /// The method.
    public var method: String { String(request.prefix { $0 != " " }) }
    /// The request target: path and query.
    public var target: String {
        let words = request.split(separator: " ")
        return words.count > 1 ? String(words[1]) : ""
    }
    /// The time at which the request's first byte was read, in seconds since 1970.
    public var started: Double { time - duration }
}

/// A position in a log. Earlier lines belong to other tests.
public struct LogMark: Sendable, Hashable {
    let offset: Int
    /// The beginning of the log.
    public static let beginning = LogMark(offset: 0)
}
