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

extension InterimResponseQueue {
    /// Creates a queue for a request's closure.
    convenience init(_ receive: @escaping @Sendable (HTTPDNSClient.InterimResponse) -> Void) {
        self.init { (head: HTTPResponse) in
            receive(HTTPDNSClient.InterimResponse(status: head.status, headerFields: head.headerFields))
        }
    }
}
