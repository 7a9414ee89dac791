internal import HTTPDNSCurl

/// What an error on a hop tells about it, also long after the head, while the body is read.
struct HopRecord: Sendable {
    let rewritten: HTTPDNSRewriter.RewrittenRequest
    let time: CallTime

    /// The host as the caller named it.
    var host: String { rewritten.content.url.host.description }
    /// Host and port, for messages.
    var origin: String { "\(rewritten.content.url.parsed.hostText):\(rewritten.content.url.port)" }
}
