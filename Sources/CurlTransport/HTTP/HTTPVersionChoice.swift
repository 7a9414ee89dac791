/// Which HTTP versions a transfer may use.
public enum HTTPVersionChoice: Hashable, Sendable {
    /// HTTP/2 where TLS negotiates it (ALPN), else HTTP/1.1. Clear-text requests use HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1Only
}
