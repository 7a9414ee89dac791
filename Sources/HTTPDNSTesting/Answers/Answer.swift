// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
package import HTTPDNSPrimitives

extension HTTPDNSStubs {
    /// The answer of a stub to a request.
    ///
    /// ```swift
    /// let slow = HTTPDNSStubs.Answer.text("ready").delayed(by: .seconds(2)).bandwidth(.gprs)
    /// ```
    ///
    /// `Content-Type` and `Content-Length` are added where the header fields of an answer have none. A request with the
    /// method `HEAD` gets the head alone.
    public struct Answer: Sendable {
        /// The use of an answer by one hop of a call. It must not outlive the hop, because ``send`` does not.
        struct Use {
            /// The request, as the last network interceptor passed it on.
            let request: HTTPDNSClient.Request
            let context: HTTPDNSClient.InterceptionContext
            /// Sends a request to the real server, past all stubs.
            let send: HTTPDNSClient.Interceptor.Next
            /// The clock of all waits.
            var clock: any TimeSource = SystemTimeSource()
        }

        /// Makes the response.
        let respond: @Sendable (Use) async throws -> HTTPDNSClient.Response
        /// The text for lists and errors, such as `503` or `file items.json`.
        let description: String

        /// Returns an answer that is computed for each request.
        ///
        /// A response of another client may be returned: its body stays a stream, with back-pressure, and errors and
        /// cancellation pass through.
        /// - Parameter answer: Returns the response. It runs in the caller's task or a child of it. An error that it
        ///   throws fails the call, see ``error(_:)``.
        public static func custom(
            _ answer: @escaping @Sendable (HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response
        ) -> Answer {
            Answer(respond: { try await answer($0.request) }, description: "a closure")
        }

        /// Returns an answer that fails the request. An `HTTPDNSClientError`, such as one with the code `timedOut`, and
        /// a `CancellationError` reach the caller unchanged. Another error is in `underlying` of an error with the code
        /// `interceptorFailed`.
        public static func error(_ error: some Error) -> Answer {
            let name = (error as? HTTPDNSClientError)?.shortDescription ?? "\(type(of: error))"
            return Answer(respond: { _ in throw error }, description: "error \(name)")
        }

        /// Returns the same answer with the waits of ``delayed(by:)``, ``lasting(_:)`` and ``bandwidth(_:)`` on another clock
        /// than the system's. It concerns the waits that were added before: call it last.
        public func timed(by clock: HTTPDNSManualClock) -> Answer { timed(on: clock) }

        /// Returns the same answer with its waits on another clock.
        package func timed(on clock: some TimeSource) -> Answer {
            changed("") { use, respond in
                var use = use
                use.clock = clock
                return try await respond(use)
            }
        }

        /// Returns an answer around this one.
        /// - Parameters:
        ///   - suffix: The text after ``description``.
        ///   - change: Returns the response, and may call this answer.
        func changed(
            _ suffix: String,
            _ change:
                @escaping @Sendable (Use, @Sendable (Use) async throws -> HTTPDNSClient.Response) async throws ->
                HTTPDNSClient.Response
        ) -> Answer {
            let respond = respond
            return Answer(respond: { try await change($0, respond) }, description: description + suffix)
        }
    }
}
