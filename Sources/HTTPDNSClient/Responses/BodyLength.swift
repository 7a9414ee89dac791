internal import HTTPTypes

/// What an answer's head says about the length of what its reader gets.
enum BodyLength {
    static func declared(by head: HTTPResponse, to request: ClientRequest) -> Int64? {
        // These have no body, whatever they declare (RFC 9110 section 6.4.1).
        if request.method == .head || head.status == .noContent || head.status == .notModified { return 0 }
        let fields = head.headerFields
        if request.options.decodesBody, let coding = fields[.contentEncoding], coding.lowercased() != "identity" {
            return nil
        }
        // Beside Transfer-Encoding it counts for nothing (RFC 9112 section 6.3).
        guard !fields.contains(.transferEncoding) else { return nil }
        // Twice the same is once (RFC 9110 section 8.6).
        return fields[values: .contentLength].first.flatMap { Int64($0) }
    }
}
