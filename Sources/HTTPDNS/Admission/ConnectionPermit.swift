internal import HTTPDNSCurl

/// The connection permit of one hop. It is returned with its last reference. The pipeline holds it until the hop has a
/// head or has failed. The transfer holds it until the last byte has arrived, or the transfer has ended otherwise.
final class ConnectionPermit: Sendable {
    private let admission: Admission
    private let origin: HopOrigin
    /// The permit in the budget of all clients of the transport.
    private let outer: ConnectionPermit?

    init(_ admission: Admission, _ origin: HopOrigin, outer: ConnectionPermit? = nil) {
        self.admission = admission
        self.origin = origin
        self.outer = outer
    }

    deinit { admission.leave(origin) }

    /// Records the HTTP version of the host's response.
    func note(_ version: HTTPDNSClient.HTTPVersion) {
        admission.note(version, from: origin)
        outer?.note(version)
    }
}
