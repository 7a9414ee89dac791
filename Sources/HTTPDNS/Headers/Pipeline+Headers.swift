internal import HTTPDNSCurl
internal import HTTPTypes

// Before the network interceptors, so that they see what is sent.
extension Pipeline {
    /// Makes a hop by the settings in use: with the fields that the client adds by these, and without those that it has added
    /// by earlier ones. Nothing of it stays for the next hop.
    /// - Throws: As ``withDefaultHeaders(_:_:_:)``.
    func settle(_ request: inout HTTPDNSClient.Request, _ context: inout HTTPDNSClient.InterceptionContext) async throws
    {
        context.settingsNumber = await settingsNumber()
        for field in context.addedFields {
            if let index = request.headerFields.firstIndex(of: field) { request.headerFields.remove(at: index) }
        }
        context.addedFields = [:]
        let headers = current.values.headers
        guard headers != nil || computedHeaders != nil else { return }
        let count = request.headerFields.count
        request = try await withDefaultHeaders(request, headers, context)
        context.addedFields.append(contentsOf: request.headerFields.dropFirst(count))
    }

    /// The request of a hop with the fields that the client adds, behind its own.
    /// - Throws: ``HTTPDNSClientError``, `invalidRequest` for computed fields that are the client's own and
    ///   `interceptorFailed` for an error of who computes them; `CancellationError`.
    func withDefaultHeaders(
        _ request: HTTPDNSClient.Request,
        _ rules: HostHeaderRules?,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Request {
        // What cannot be read is refused by the stage, in its own words.
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url) else { return request }
        let policy = request.own?.options.redirects.inheriting(from: redirects) ?? redirects
        let isForeign = context.way.isForeign
        var given = rules?.fields(for: url.parsed.host) { isForeign && policy.withholds($0) } ?? [:]
        if let computedHeaders {
            var computed = try await fields(of: computedHeaders, for: request)
            // Who computes them cannot know that a stranger has named this host.
            if isForeign { computed.removeAll(where: policy.withholds) }
            given.removeAll { computed.contains($0.name) }
            given.append(contentsOf: computed)
        }
        let (own, unwanted) = (request.headerFields, request.options.withoutHeaders)
        var request = request
        // The URL's credential is the request's own, and stands for this field.
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
