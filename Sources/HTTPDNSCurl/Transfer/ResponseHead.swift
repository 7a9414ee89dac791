// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The head of a response. A received head is checked when it arrives; its fields are made on demand, since the pipeline
/// needs few of them and many callers need none.
package struct ResponseHead: Sendable {
    private enum Content: Sendable {
        case received(ReceivedHead)
        case made(HTTPResponse)
    }

    private var content: Content

    package init(_ head: HTTPResponse) { content = .made(head) }

    /// - Throws: ``TransferFailure`` with code `protocolViolation`.
    static func received(
        _ bytes: [UInt8],
        declaresCoding: Bool = false
    ) throws(TransferFailure) -> (ResponseHead, HTTPDNSTransfer.HTTPVersion) {
        let (status, version) = try ResponseHeadParser.check(bytes)
        return (ResponseHead(content: .received(ReceivedHead(status, bytes, declaresCoding: declaresCoding))), version)
    }

    private init(content: Content) { self.content = content }

    package var status: HTTPResponse.Status {
        switch content {
        case .received(let head): head.status
        case .made(let head): head.status
        }
    }

    /// Whether there is a `Content-Encoding` field. Most responses have none, and their fields need not be made for this.
    package var declaresCoding: Bool {
        switch content {
        case .received(let head): head.declaresCoding
        case .made(let head): head.headerFields.contains(.contentEncoding)
        }
    }

    /// The code of the status, without its text.
    package var statusCode: Int {
        switch content {
        case .received(let head): head.status.code
        case .made(let head): head.status.code
        }
    }

    package var headerFields: HTTPFields {
        get {
            switch content {
            case .received(let head): head.fields
            case .made(let head): head.headerFields
            }
        }
        set { content = .made(HTTPResponse(status: status, headerFields: newValue)) }
    }

    /// The hash of the names in a received head, which need no fields; nil for another head.
    package var hashOfNames: Int? {
        if case .received(let head) = content { return ResponseHeadParser.hashOfNames(head.bytes) }
        return nil
    }

    /// The memory that it takes, estimated, with the fields that may be made of its bytes.
    package var estimatedBytes: Int {
        switch content {
        case .received(let head): head.bytes.reduce(2 * head.bytes.count) { $1 == UInt8(ascii: "\n") ? $0 + 128 : $0 }
        case .made(let head): Self.estimatedBytes(of: head.headerFields)
        }
    }

    /// Returns the bytes of fields, with what a table of them needs for each.
    package static func estimatedBytes(of fields: HTTPFields) -> Int {
        fields.reduce(0) { $0 + $1.name.rawName.utf8.count * 2 + $1.value.utf8.count + 128 }
    }

    /// The head with all its fields.
    package var whole: HTTPResponse {
        switch content {
        case .received(let head): HTTPResponse(status: head.status, headerFields: head.fields)
        case .made(let head): head
        }
    }
}

/// A received head, whose fields are made from its bytes when they are first read.
private final class ReceivedHead: Sendable {
    let status: HTTPResponse.Status
    let declaresCoding: Bool
    let bytes: [UInt8]
    private let made = Lock<HTTPFields?>(nil)

    init(_ status: HTTPResponse.Status, _ bytes: [UInt8], declaresCoding: Bool) {
        self.status = status
        self.declaresCoding = declaresCoding
        self.bytes = bytes
    }

    var fields: HTTPFields {
        made.withLock { made in
            if let made { return made }
            let fields = ResponseHeadParser.fields(bytes)
            made = fields
            return fields
        }
    }
}
