// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPTypes

extension HTTPDNSClient {
    /// An interceptor that changes responses: the head at once, the body as a stream.
    ///
    /// ```swift
    /// configuration.applicationInterceptors = [
    ///     HTTPDNSClient.ResponseRewriting { request, response in
    ///         response.head.headerFields[.server] = nil
    ///         response.changeBody { $0.replacing("http://old.example", with: "https://new.example") }
    ///     }
    /// ]
    /// ```
    ///
    /// As an application interceptor it changes the response that the caller gets, after redirects and retries. Among
    /// the network interceptors it changes the response of each hop, before a redirect or a retry reads it.
    public struct ResponseRewriting: HTTPDNSClient.Interceptor {
        private let change: @Sendable (HTTPDNSClient.Request, inout HTTPDNSClient.Response) async throws -> Void

        /// Creates an interceptor.
        /// - Parameter change: Changes a response, and gets the request as this interceptor received it. It runs in the
        ///   caller's task or a child of it, before the caller has the head. An error that it throws fails the call.
        public init(
            _ change: @escaping @Sendable (HTTPDNSClient.Request, inout HTTPDNSClient.Response) async throws -> Void
        ) {
            self.change = change
        }

        /// Changes the response to a request.
        /// - Throws: The errors of `next` and of the closure.
        public func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            var response = try await next(request, context)
            try await change(request, &response)
            return response
        }
    }
}

extension HTTPDNSClient.Response {
    /// Changes the body, and the header fields that describe it.
    ///
    /// `Content-Length` becomes the length of the new body, or is removed when that is not known. The digests of the old
    /// body are removed (`Content-Digest`, `Repr-Digest`, RFC 9530; `Digest`, `Content-MD5`), and `Content-Encoding`
    /// too, because the body is decoded.
    ///
    /// Nothing is changed in a body whose content coding is not decoded
    /// (``HTTPDNSClient/Request/Options/decodesBody``), since its bytes are not the text. A response without content
    /// (204, 304, the response to HEAD) only loses the fields that describe the old body.
    /// - Parameter change: Returns the new body for the old one: the old one with a text replaced
    ///   (``HTTPDNSClient/Response/Body/replacing(_:with:)-([UInt8],_)``), one that reads it
    ///   (``HTTPDNSClient/Response/Body/changed(to:length:)``), or one that does not.
    /// - Returns: Whether the body could be changed.
    @discardableResult
    public mutating func changeBody(
        _ change: (HTTPDNSClient.Response.Body) throws -> HTTPDNSClient.Response.Body
    ) rethrows -> Bool {
        var fields = headerFields
        if let coding = fields[.contentEncoding], coding.lowercased() != "identity", !body.isDecoded { return false }
        let hasContent = body.declaredLength != 0 || fields.singleton(.contentLength)?.value == "0"
        if hasContent { body = try change(body) }
        fields[.contentEncoding] = nil
        for name in HTTPField.Name.digests { fields[name] = nil }
        // Both are never in one message (RFC 9112 section 6.2).
        let isChunked = fields.contains(.transferEncoding)
        fields[.contentLength] = hasContent && !isChunked ? body.declaredLength.map(String.init) : nil
        head.headerFields = fields
        return hasContent
    }
}

extension HTTPDNSClient.Response.Body {
    /// Returns the body with each occurrence of a text replaced by another one, found from the start without overlaps.
    ///
    /// The body stays a stream: an occurrence that begins in one chunk and ends in another is found, and at most 64 KiB
    /// and one replacement are held in memory. Only bytes that may begin an occurrence wait for the next chunk.
    /// - Parameters:
    ///   - text: The bytes to search for. With an empty text, nothing is replaced.
    ///   - replacement: The bytes in its place.
    public func replacing(_ text: [UInt8], with replacement: [UInt8]) -> HTTPDNSClient.Response.Body {
        guard !text.isEmpty else { return self }
        let stream = ReplacedChunks(base: self, replacement: ByteReplacement(of: text, with: replacement))
        return changed(to: stream, length: text.count == replacement.count ? declaredLength : nil)
    }

    /// Returns the body with each occurrence of a text in UTF-8 replaced, as ``replacing(_:with:)-([UInt8],_)`` does.
    public func replacing(_ text: String, with replacement: String) -> HTTPDNSClient.Response.Body {
        replacing(Array(text.utf8), with: Array(replacement.utf8))
    }
}

extension HTTPField.Name {
    /// The fields with a digest of a body or of its representation.
    fileprivate static let digests = ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap {
        HTTPField.Name($0)
    }
}
