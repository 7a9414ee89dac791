// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// A request that is answered in process passes no step below the network interceptors. Stubs repeat the parts of these
// steps that the caller can observe, so that a test fails where the real call would.

extension HTTPDNSClient.Request {
    /// Returns the request as a server would receive it: checked, and with the header fields that the transport adds for the
    /// body and for the user information of the URL.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`, `invalidRequest` or `authenticationFailed`, as for a request that
    ///   is sent.
    package func asReceived(
        _ context: HTTPDNSClient.InterceptionContext
    ) throws(HTTPDNSClientError) -> HTTPDNSClient.Request {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(url)
        try RequestCheck.check(self, at: url)
        var request = self
        if BodyContentType.isOutdated(in: self) { request.headerFields[.contentType] = body.contentType }
        if let credential = url.parsed.credential, !headerFields.contains(.authorization) {
            let choice = try context.frame?.egress.choice(of: self, for: url) ?? .direct
            try context.checkCleartext(self, to: url.parsed, by: choice)
            request.headerFields.append(try BasicCredential.field(for: credential))
        }
        return request
    }

    /// The URL on one line for errors, without user information and without the values in its query.
    package var urlForErrors: String {
        let text = URLText.forErrors(url)
        guard let parsed = try? ParsedURL(url), let start = parsed.target.firstIndex(of: "?") else { return text }
        let names = FormItems.items(of: String(parsed.target[start...].dropFirst())).map { $0.name.escaped(limit: 40) }
        return text + "?" + names.map { "\($0)=..." }.joined(separator: "&")
    }
}

extension HTTPDNSClient.InterceptionContext {
    /// Notes that a stub answers a request in place of its server: redirects, cookies and challenges of the response are then
    /// those of the request's origin. An interceptor's own response has no such rights.
    package func noteStubbed(_ request: HTTPDNSClient.Request) {
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed else { return }
        frame?.noteStubbed(url)
    }
}

extension HTTPDNSClient.Response {
    /// The URL whose server has answered the last hop, or a stub in its place; nil for the response of an interceptor.
    func answeredURL(_ context: HTTPDNSClient.InterceptionContext) -> ParsedURL? {
        context.frame?.stubbedURL ?? exchanges.last?.request.content.url.parsed
    }

    /// Returns the response of a server with its content codings decoded, for a test that reads or changes its bytes. Without a
    /// response cache they are. With one, the cache stores the decoded body, so the fields about the coded one are removed.
    package func decodedForTest(
        of request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> HTTPDNSClient.Response {
        guard !body.isDecoded, request.method != .head else { return asDecoded(for: request, context) }
        var response = asDecoded(for: request, context)
        if content.declaresCoding, !response.content.declaresCoding {
            response.body = body.decoded(content, limit: nil)
        }
        return response
    }

    /// Returns a response whose body is decoded already, such as a recorded one, as a server's response.
    package func asDecoded(
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> HTTPDNSClient.Response {
        guard context.keepsCodings, request.isDecoded, content.declaresCoding else { return self }
        var response = self
        response.removeCoding()
        return response
    }

    /// Removes the fields about a coded body.
    private mutating func removeCoding() {
        head.headerFields[.contentEncoding] = nil
        head.headerFields[.contentLength] = nil
    }

    /// Returns the response as it arrives from a server that sends this one: its content codings are decoded if the request
    /// asks for that (``HTTPDNSClient/Request/Options/decodesBody``), and a response that has no content (to HEAD, 1xx, 204,
    /// 304) has no body. For a response cache, which decodes above it, the body stays as it is.
    package func asReceived(
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> HTTPDNSClient.Response {
        var response = self
        if context.keepsCodings {
            response.sentFields = request.headerFields
            // The body of another client's response is decoded already.
            if body.isDecoded { response.removeCoding() }
        }
        let hasNone = statusCode < 200 || statusCode == 204 || statusCode == 304 || request.method == .head
        if hasNone {
            // The body of a real response has its trailers and its summary.
            if exchanges.isEmpty { response.body = .bytes([]) }
        } else if !context.keepsCodings, request.isDecoded, !body.isDecoded, content.declaresCoding {
            let facts = TransferHead(
                head: content,
                version: version,
                endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 0, 0, 0, 0), port: 0),
                reusedConnection: false,
                timings: HTTPDNSTransfer.Timings()
            )
            let decoded = DecodedBody(.chunks(body), of: content, facts)
            response.body = HTTPDNSClient.Response.Body(decoded, of: nil, length: .known(nil))
        }
        return response
    }
}
