internal import HTTPDNSCore

/// The host and port of a hop.
struct HopOrigin: Hashable, Sendable {
    var host: HTTPDNSHost
    var port: UInt16

    init(host: HTTPDNSHost, port: UInt16) {
        self.host = host
        self.port = port
    }

    init(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        self.init(host: rewritten.content.url.host, port: rewritten.content.url.port)
    }
}
