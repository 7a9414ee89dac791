// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The head of a response. A received head is checked when it arrives; its fields are made on demand, since the pipeline
/// needs few of them and many callers need none.
package struct ResponseHead: Sendable {
    private enum Content: Sendable {
        case received(ReceivedFields)
        case made(HTTPResponse)
    }

    private var content: Content
    package let status: HTTPResponse.Status

    package init(_ head: HTTPResponse) {
        content = .made(head)
        status = head.status
    }

    /// - Throws: ``TransferFailure`` with code `protocolViolation`.
    static func received(_ bytes: [UInt8]) throws(TransferFailure) -> (ResponseHead, HTTPDNSTransfer.HTTPVersion) {
        let (status, version) = try ResponseHeadParser.check(bytes)
        return (ResponseHead(content: .received(ReceivedFields(bytes)), status: status), version)
    }

    private init(content: Content, status: HTTPResponse.Status) {
        self.content = content
        self.status = status
    }

    package var headerFields: HTTPFields {
        get {
            switch content {
            case .received(let fields): fields.all
            case .made(let head): head.headerFields
            }
        }
        set { content = .made(HTTPResponse(status: status, headerFields: newValue)) }
    }

    /// The head with all its fields.
    package var whole: HTTPResponse {
        switch content {
        case .received(let fields): HTTPResponse(status: status, headerFields: fields.all)
        case .made(let head): head
        }
    }
}

/// The fields of a received head, made from its bytes when they are first read.
private final class ReceivedFields: Sendable {
    private let bytes: [UInt8]
    private let made = Lock<HTTPFields?>(nil)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var all: HTTPFields {
        made.withLock { made in
            if let made { return made }
            let fields = ResponseHeadParser.fields(bytes)
            made = fields
            return fields
        }
    }
}
