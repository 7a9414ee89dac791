// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSStubs {
    /// The treatment of requests that no stub answers, and whose host is not allowed.
    public struct Unmatched: Sendable, CustomStringConvertible {
        enum Content: Sendable {
            case fail
            case pass
            case warn
            case custom(@Sendable (HTTPDNSClient.Request) async throws -> Answer)
        }

        let content: Content

        /// Fails the call with `HTTPDNSClientError.Code.unmatchedRequest`, before anything is resolved. The error lists the
        /// closest stubs, and the conditions of each that the request does not fulfill.
        public static let fail = Unmatched(content: .fail)
        /// Sends the request as without stubs.
        public static let pass = Unmatched(content: .pass)
        /// Sends the request as without stubs, and logs a warning. It uses the logger of the client, or one with the label
        /// `httpdns.stubs`.
        public static let warn = Unmatched(content: .warn)
        /// Returns the treatment that answers with a closure. It runs in the caller's task or a child of it. An error that it
        /// throws fails the call.
        public static func custom(
            _ answer: @escaping @Sendable (HTTPDNSClient.Request) async throws -> Answer
        ) -> Unmatched {
            Unmatched(content: .custom(answer))
        }

        /// `fail`, `pass`, `warn` or `custom`.
        public var description: String {
            switch content {
            case .fail: "fail"
            case .pass: "pass"
            case .warn: "warn"
            case .custom: "custom"
            }
        }
    }
}

/// A stub that did not answer a request, with the reasons.
struct Mismatch: Sendable {
    let label: String
    let reasons: [String]

    /// - Parameter request: The request. A body that is read for a condition is replaced, as in
    ///   `HTTPDNSClient.RequestPredicate`.
    /// - Throws: The errors of conditions; `CancellationError`.
    init(_ entry: StubLayer.Entry, _ request: inout HTTPDNSClient.Request) async throws {
        label = entry.label
        let unfulfilled = try await entry.predicate.unfulfilled(by: &request).map { "not \($0)" }
        // Its answers may have ended since it was asked.
        let other = entry.answers.reasonForNone ?? "it was added, or skipped this request, meanwhile"
        reasons = unfulfilled.isEmpty ? [other] : unfulfilled
    }

    /// The number of stubs that an error lists.
    private static let listed = 3

    /// Returns the error for a request that no stub answers.
    /// - Parameters:
    ///   - stubs: All stubs, in the order in which they were asked.
    ///   - allowed: The hosts that may be reached.
    static func error(
        _ request: HTTPDNSClient.Request,
        _ stubs: [Mismatch],
        allowed: [String]
    ) -> HTTPDNSClientError {
        // The sort keeps the order among equals.
        let closest = stubs.sorted { $0.reasons.count < $1.reasons.count }.prefix(listed)
        var message = "no stub answers \(request.method.rawValue) \(request.urlForErrors)"
        if closest.isEmpty {
            message += ": there are no stubs"
        } else {
            let list = closest.map { "\($0.label) (\($0.reasons.joined(separator: ", ")))" }
            message += "; closest: \(list.joined(separator: "; "))"
            if stubs.count > closest.count { message += "; and \(stubs.count - closest.count) more" }
        }
        if !allowed.isEmpty { message += "; allowed hosts: \(allowed.joined(separator: ", "))" }
        return error(
            request,
            message.onOneLine(limit: 2000),
            hint: "add a stub; or let the request reach its server with allowing: or unmatched: .pass"
        )
    }

    /// Returns the error for a request whose stub was removed before the response was there.
    static func removed(_ label: String, answering request: HTTPDNSClient.Request) -> HTTPDNSClientError {
        error(
            request,
            "the stub \(label) was removed while it answered \(request.method.rawValue) \(request.urlForErrors)",
            hint: "await the response before the stub is removed"
        )
    }

    private static func error(_ request: HTTPDNSClient.Request, _ message: String, hint: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .unmatchedRequest,
            phase: .interceptor,
            message: message,
            host: (try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url))?.host.description,
            hint: hint
        )
    }
}
