/// Which HTTP versions a transfer may use.
public enum HTTPVersionChoice: Hashable, Sendable {
    /// HTTP/2 where TLS negotiates it (ALPN), else HTTP/1.1. Clear-text requests use HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1Only
    /// HTTP/1.0 only. It knows no chunks: a body must have a known length. Connections serve one request each.
    case http10Only
    /// HTTP/2 only. Over TLS the server has to choose it (ALPN), and nothing is sent to one that does not; a server of
    /// clear-text requests is taken to speak it (RFC 9113 section 3.3).
    case http2Only
}
