// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient.Response {
    /// Returns the response if its status and its media type are expected. The body is not read.
    ///
    /// ```swift
    /// let items = try await client.get("https://api.shop.example/v1/items").validated(types: ["application/json"])
    /// ```
    /// - Parameters:
    ///   - statuses: The expected statuses.
    ///   - types: The expected media types: `application/json`, `text/*`, `application/*+json`. Parameters do not count. Empty
    ///     means any, also none. A response that has no content, with a status 204, 205 or 304 or the declared length 0, has no
    ///     type that is compared.
    /// - Throws: ``HTTPDNSClientError`` with code `unexpectedStatus` or `unexpectedType`. The transfer of the body ends with
    ///   the last reference to the response.
    public func validated(
        statuses: some Collection<Int> = 200...299,
        types: [String] = []
    ) throws(HTTPDNSClientError) -> HTTPDNSClient.Response {
        try ResponseExpectation.check(
            statusCode,
            headerFields,
            isEmpty: body.declaredLength == 0,
            lastExchange,
            statuses,
            types
        )
        return self
    }
}

extension HTTPDNSClient.Response.Collected {
    /// Returns the response if its status and its media type are expected, see
    /// ``HTTPDNSClient/Response/validated(statuses:types:)``. An empty body has no type that is compared.
    /// - Throws: ``HTTPDNSClientError`` with code `unexpectedStatus` or `unexpectedType`.
    public func validated(
        statuses: some Collection<Int> = 200...299,
        types: [String] = []
    ) throws(HTTPDNSClientError) -> HTTPDNSClient.Response.Collected {
        try ResponseExpectation.check(
            status.code,
            headerFields,
            isEmpty: body.isEmpty,
            lastExchange,
            statuses,
            types
        )
        return self
    }
}

/// The comparison of a response with what its caller expects.
private enum ResponseExpectation {
    /// - Throws: ``HTTPDNSClientError`` with code `unexpectedStatus` or `unexpectedType`.
    static func check(
        _ status: Int,
        _ fields: HTTPFields,
        isEmpty: Bool,
        _ exchange: HTTPDNSClient.Exchange?,
        _ statuses: some Collection<Int>,
        _ types: [String]
    ) throws(HTTPDNSClientError) {
        guard statuses.contains(status) else {
            throw error(
                .unexpectedStatus,
                "has the status \(status), which is not expected",
                "statuses: has those that are; the body is that of the response before validated",
                exchange
            )
        }
        guard !types.isEmpty, !isEmpty, status != 204, status != 205, status != 304 else { return }
        let found = fields.singleton(.contentType)?.value
        if let found, types.contains(where: { MediaTypeText(found).fits($0) }) { return }
        throw error(
            .unexpectedType,
            "has \(found.map { "the media type \($0.escaped(limit: 100))" } ?? "no media type"), and "
                + "\(types.joined(separator: ", ").escaped(limit: 200)) was expected",
            "look at the body: proxies and login pages answer in HTML",
            exchange
        )
    }

    private static func error(
        _ code: HTTPDNSClientError.Code,
        _ reason: String,
        _ hint: String,
        _ exchange: HTTPDNSClient.Exchange?
    ) -> HTTPDNSClientError {
        let host = exchange?.request.content.url.host.description
        var error = HTTPDNSClientError(
            code: code,
            phase: .firstByte,
            message: "the response\(host.map { " of \($0)" } ?? "") \(reason)",
            host: host,
            hint: hint
        )
        error.requestMayHaveBeenSent = true
        return error
    }
}
