internal import HTTPTypes

/// The length of a response body as its head declares it. The header fields are read on demand, because most callers
/// never ask.
enum BodyLength: Sendable {
    case known(Int64?)
    /// - Parameter decodes: Whether content codings are decoded.
    case declared(in: HTTPFields, decodes: Bool)

    init(declaredBy head: HTTPResponse, to request: HTTPDNSClient.Request) {
        // Responses to these have no body, whatever their fields declare (RFC 9110 section 6.4.1).
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
            // Content-Length is ignored beside Transfer-Encoding (RFC 9112 section 6.3).
            guard !fields.contains(.transferEncoding) else { return nil }
            // Repeated equal values count as one (RFC 9110 section 8.6).
            return fields[values: .contentLength].first.flatMap { Int64($0) }
        }
    }
}
