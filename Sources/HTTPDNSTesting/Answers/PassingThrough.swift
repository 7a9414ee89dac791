// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSStubs.Answer {
    /// Returns an answer that sends the request to the real server, and changes its response.
    ///
    /// The request passes no stub again. A redirect of the server is answered by stubs, as each hop is.
    ///
    /// ```swift
    /// let patched = HTTPDNSStubs.Answer.passingThrough { response in
    ///     response.head.status = .serviceUnavailable
    ///     response.changeBody { _ in .bytes([]) }
    /// }
    /// ```
    /// - Parameter patch: Changes the response: the status, the header fields, and the body, which is decoded, by
    ///   `HTTPDNSClient.Response.changeBody(_:)`. A response cache stores the changed response. An error that it throws fails the call.
    public static func passingThrough(
        _ patch: @escaping @Sendable (inout HTTPDNSClient.Response) async throws -> Void = { _ in }
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                let received = try await use.send(use.request, use.context)
                var response = received.decodedForTest(of: use.request, use.context)
                try await patch(&response)
                return response
            },
            description: "the real response"
        )
    }

    /// Returns an answer that sends the request to the real server, and merges a patch into its JSON body (RFC 7396).
    ///
    /// Members of objects are replaced, those with `null` are removed, and arrays and other values are replaced as a whole.
    /// The keys of the new body are sorted. A response without a body stays as it is. A body that is no JSON, or is longer
    /// than 4 MiB, fails the call.
    /// - Parameter patch: The patch as JSON, such as `{"price": 1}`.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `invalidJSON` for a text that is no JSON.
    public static func passingThrough(
        mergingJSON patch: String
    ) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        guard let patch = CodableJSON(Array(patch.utf8)) else {
            throw HTTPDNSStubs.AnswerError(.invalidJSON, "the patch for the real response is no JSON")
        }
        return passingThrough { response in
            guard response.body.declaredLength != 0 else { return }
            let bytes = try await response.body.collect(upTo: .mebibytes(4))
            guard let value = CodableJSON(bytes) else {
                throw HTTPDNSStubs.AnswerError(.invalidJSON, "the body of the real response is no JSON to patch")
            }
            let patched = try value.merged(with: patch).encoded()
            response.changeBody { _ in .bytes(patched) }
        }
    }
}
