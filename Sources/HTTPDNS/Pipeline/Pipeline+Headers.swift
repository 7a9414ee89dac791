// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

// This step is before the network interceptors, so that they see the fields that are sent.
extension Pipeline {
    /// Prepares a hop as ``settle(_:_:)`` does, if its settings are in use and no field is added or removed.
    /// - Returns: Whether it is prepared.
    func settleAtOnce(_ context: inout HTTPDNSClient.InterceptionContext) -> Bool {
        guard context.addedFields == nil, computedHeaders == nil, let number = settledNumber,
            current.values.headers == nil
        else { return false }
        context.settingsNumber = number
        return true
    }

    /// Prepares a hop with the settings in use: it adds the client's fields, and removes those that earlier settings
    /// added. Nothing of it is kept for the next hop.
    /// - Throws: The errors of ``withDefaultHeaders(_:_:_:)``.
    func settle(_ request: inout HTTPDNSClient.Request, _ context: inout HTTPDNSClient.InterceptionContext) async throws
    {
        context.settingsNumber = await settingsNumber()
        if let added = context.addedFields {
            for field in added {
                if let index = request.headerFields.firstIndex(of: field) { request.headerFields.remove(at: index) }
            }
            context.addedFields = nil
        }
        let headers = current.values.headers
        guard headers != nil || computedHeaders != nil else { return }
        let count = request.headerFields.count
        request = try await withDefaultHeaders(request, headers, context)
        context.addedFields = HTTPFields(request.headerFields.dropFirst(count))
    }

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
        let policy = request.own?.options.redirects.inheriting(from: redirects) ?? redirects
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

/// The user information of a URL as an Authorization field (RFC 7617).
enum BasicCredential {
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`, for a user or password that the scheme cannot carry.
    static func field(for credential: ParsedURL.Credential) throws(HTTPDNSClientError) -> HTTPField {
        guard !credential.user.utf8.contains(UInt8(ascii: ":")) else {
            throw refusal(
                "the user in the URL has a colon, which Basic authorization cannot carry (RFC 7617 section 2)"
            )
        }
        let bytes = Array("\(credential.user):\(credential.password)".utf8)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw refusal("the URL's user information has a control character, which RFC 7617 section 2 forbids")
        }
        var field = HTTPField(name: .authorization, value: "Basic \(base64(bytes))")
        field.indexingStrategy = .disallow
        return field
    }

    private static func refusal(_ message: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .invalidURL,
            phase: .request,
            message: message,
            hint: "leave it out of the URL and set an Authorization header field"
        )
    }

    /// Returns Base64 with padding (RFC 4648 section 4).
    static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? UInt32(group[start + offset]) : 0) }
            for position in 0..<4 {
                let digit = alphabet[Int(bits >> UInt32(18 - 6 * position) & 63)]
                text.append(position <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
