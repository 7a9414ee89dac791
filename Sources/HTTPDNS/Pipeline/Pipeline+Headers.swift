// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

// This step is before the network interceptors, so that they see the fields that are sent.
extension Pipeline {
    /// Returns the request of a hop with the fields that the client adds, after its own.
    /// - Throws: ``HTTPDNSClientError``, with `invalidRequest` for computed fields that only the client may set, and
    ///   `interceptorFailed` for an error of the closure that computes them; `CancellationError`.
    func withDefaultHeaders(
        _ request: HTTPDNSClient.Request,
        _ rules: HostHeaderRules?,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Request {
        // The rewriter refuses an unreadable URL, with its own message.
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url) else { return request }
        let policy = context.options(of: request).settings.options.shared.redirects
        let isForeign = context.constraints.isForeign
        var given = rules?.fields(for: url.parsed.host) { isForeign && policy.withholds($0) } ?? [:]
        if let computedHeaders {
            var computed = try await fields(of: computedHeaders, for: request)
            // The closure cannot know that a redirect has led to this host.
            if isForeign { computed.removeAll(where: policy.withholds) }
            given.removeAll { computed.contains($0.name) }
            given.append(contentsOf: computed)
        }
        let (own, unwanted) = (request.headerFields, request.options.withoutHeaders)
        var request = request
        // The URL's credential is the request's own, and takes precedence over this field.
        let hasCredential = url.parsed.credential != nil
        for field in given
        where !own.contains(field.name) && !unwanted.contains(field.name)
            && !(hasCredential && field.name == .authorization)
        {
            request.headerFields.append(field)
        }
        return request
    }

    private func fields(
        of compute: @Sendable (HTTPDNSClient.Request) async throws -> HTTPFields,
        for request: HTTPDNSClient.Request
    ) async throws -> HTTPFields {
        let fields: HTTPFields
        do {
            fields = try await compute(request)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
        }
        try RequestCheck.check(fields)
        return fields
    }
}
