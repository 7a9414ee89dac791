internal import HTTPTypes

/// What an answer's head says about the length of what its reader gets. The fields are read when somebody asks, which most do
/// not.
enum BodyLength: Sendable {
    case known(Int64?)
    /// - Parameter decodes: Whether content codings are taken off on the way.
    case declared(in: HTTPFields, decodes: Bool)

    init(declaredBy head: HTTPResponse, to request: HTTPDNSClient.Request) {
        // These have no body, whatever they declare (RFC 9110 section 6.4.1).
        if request.method == .head || head.status == .noContent || head.status == .notModified {
            self = .known(0)
        } else {
            self = .declared(in: head.headerFields, decodes: request.isDecoded)
        }
    }

    var bytes: Int64? {
        switch self {
        case .known(let bytes):
            return bytes
        case .declared(let fields, let decodes):
            if decodes, let coding = fields[.contentEncoding], coding.lowercased() != "identity" { return nil }
            // Beside Transfer-Encoding it counts for nothing (RFC 9112 section 6.3).
            guard !fields.contains(.transferEncoding) else { return nil }
            // Twice the same is once (RFC 9110 section 8.6).
            return fields[values: .contentLength].first.flatMap { Int64($0) }
        }
    }
}
