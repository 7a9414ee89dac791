internal import CurlTransport

/// The scheme, host and port to which secrets may go (RFC 9110 section 4.3.1).
struct URLOrigin: Hashable, Sendable {
    let scheme: ParsedURL.Scheme
    let host: ParsedURL.Host
    let port: UInt16

    init(_ url: ParsedURL) {
        scheme = url.scheme
        host = url.host
        port = url.port
    }
}
