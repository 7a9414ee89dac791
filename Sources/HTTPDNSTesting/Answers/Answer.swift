// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSStubs {
    /// The answer of a stub to a request.
    public struct Answer: Sendable {
        /// The use of an answer by one hop of a call.
        struct Use {
            /// The request, as the last network interceptor passed it on.
            let request: HTTPDNSClient.Request
            let context: HTTPDNSClient.InterceptionContext
            /// Sends a request to the real server, past all stubs.
            let send: HTTPDNSClient.Interceptor.Next
        }

        /// Makes the response.
        let respond: @Sendable (Use) async throws -> HTTPDNSClient.Response
        /// The text for lists and errors, such as `503` or `file items.json`.
        let description: String

        /// Returns an answer with a status and no body.
        public static func status(_ status: HTTPResponse.Status) -> Answer {
            Answer(
                respond: { _ in HTTPDNSClient.Response(head: HTTPResponse(status: status), body: .bytes([])) },
                description: "\(status.code)"
            )
        }
    }
}
