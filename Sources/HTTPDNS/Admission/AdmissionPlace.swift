internal import HTTPDNSCurl

/// The right of one hop to be on its way. It is given back when nobody holds it any more: the pipeline does until the hop has
/// a head or has failed, and its transfer until the last byte has come or the transfer has ended otherwise.
final class AdmissionPlace: Sendable {
    private let admission: Admission
    private let origin: HopOrigin
    /// The place among those of all clients of the transport.
    private let outer: AdmissionPlace?

    init(_ admission: Admission, _ origin: HopOrigin, outer: AdmissionPlace? = nil) {
        self.admission = admission
        self.origin = origin
        self.outer = outer
    }

    deinit { admission.leave(origin) }

    /// The host has answered in this version.
    func note(_ version: HTTPDNSClient.HTTPVersion) {
        admission.note(version, from: origin)
        outer?.note(version)
    }
}
