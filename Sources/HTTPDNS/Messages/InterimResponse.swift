// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient {
    /// A response that a server sends before the final one: status 1xx without a body (RFC 9110 section 15.2), such as 103
    /// (Early Hints, RFC 8297).
    public struct InterimResponse: Hashable, Sendable {
        /// The status, 100 to 199.
        public var status: HTTPResponse.Status
        /// The header fields. They are hints: the final response has its own fields.
        public var headerFields: HTTPFields

        /// Creates an interim response.
        public init(status: HTTPResponse.Status, headerFields: HTTPFields = [:]) {
            self.status = status
            self.headerFields = headerFields
        }
    }
}

extension HTTPDNSClient.Request {
    /// A closure that receives the interim responses (1xx) to this request; nil drops them, which is the default.
    ///
    /// It is called in a task of its own, never on the loop thread and never under a lock. It is called for one response at
    /// a time, in the order of arrival, and for each hop of the call: redirects and retries have their own. Each of its
    /// calls returns before the final response, or the error, of its hop is delivered, so a slow closure delays that. The
    /// call does not wait for the closure when its task is canceled or its time limit has passed. At most 64 responses
    /// wait for a slow closure; more are dropped.
    ///
    /// A request that is hedged may report the responses to both copies. A status of 101 is not interim here: it ends the
    /// call with ``HTTPDNSClientError/Code/protocolViolation``.
    public var onInterimResponse: (@Sendable (HTTPDNSClient.InterimResponse) -> Void)? {
        get { own?.onInterimResponse }
        set { changeOwn { $0.onInterimResponse = newValue } }
    }
}

extension InterimResponseQueue {
    /// Creates a queue for a request's closure.
    convenience init(_ receive: @escaping @Sendable (HTTPDNSClient.InterimResponse) -> Void) {
        self.init { (head: HTTPResponse) in
            receive(HTTPDNSClient.InterimResponse(status: head.status, headerFields: head.headerFields))
        }
    }
}
