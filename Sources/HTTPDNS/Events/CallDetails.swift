// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSCurl
package import HTTPTypes

/// The parts of a call that may have secrets: requests, response heads and bodies.
///
/// Only observers of this package get them, see ``DetailedObserver``. Such an observer redacts them before it stores or prints
/// anything. A reflection of a record shows none of them.
package final class CallDetails: Sendable, CustomReflectable {
    /// The request and the response head of one hop of ``HTTPDNSClient/CallRecord/hops``. A copy of a whole request would cost four
    /// times as much.
    package struct Messages: Sendable, CustomReflectable {
        package let url: String
        /// The fields of the request as it was sent, without those that the transport adds.
        package private(set) var requestFields: HTTPFields
        /// The body of the request, which an interceptor may have changed.
        package private(set) var requestBody: HTTPDNSClient.Request.Body
        private let decodesBody: Bool
        /// The response head as the steps inside the call returned it; nil without a response.
        package var response: HTTPResponse? { head?.whole }
        var head: ResponseHead?

        init(_ request: HTTPDNSClient.Request) {
            url = request.url
            requestFields = request.headerFields
            requestBody = request.body
            decodesBody = request.own?.options.decodesBody != false
        }

        /// Whether the client decodes the content coding of the response.
        package var isDecoded: Bool { decodesBody && !requestFields.contains(.range) }
        /// Returns the memory of fields, estimated.
        package static func estimatedBytes(of fields: HTTPFields) -> Int { ResponseHead.estimatedBytes(of: fields) }

        /// The memory that they take, estimated.
        package var estimatedBytes: Int {
            url.utf8.count + ResponseHead.estimatedBytes(of: requestFields) + (head?.estimatedBytes ?? 0)
        }
        package var customMirror: Mirror { Mirror(self, children: []) }

        /// Removes the values of fields whose names are those of secrets, and the body.
        mutating func cutSecrets(by redaction: HTTPDNSClient.Redaction) {
            requestFields = redaction.withoutNamedSecrets(requestFields)
            head = head.map(redaction.withoutNamedSecrets)
            requestBody = .none
        }
    }

    /// The caller's request.
    package let request: HTTPDNSClient.Request
    /// The resolver of the client, which knows the routes of hosts; nil in tests.
    package let resolver: HTTPDNSResolver?
    /// The response head that the caller got; nil when there was none.
    package var response: HTTPResponse? { head?.whole }
    private let head: ResponseHead?
    /// The first bytes of the body that the caller read, at most as many as the observers ask for.
    package let bodyStart: [UInt8]

    init(request: HTTPDNSClient.Request, resolver: HTTPDNSResolver?, head: ResponseHead?, bodyStart: [UInt8]) {
        (self.request, self.resolver, self.head, self.bodyStart) = (request, resolver, head, bodyStart)
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
