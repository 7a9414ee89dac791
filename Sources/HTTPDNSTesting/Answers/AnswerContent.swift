// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
public import HTTPTypes

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The head and the body of an answer, before the fields about the body are added.
struct AnswerContent: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields
    var body: HTTPDNSClient.Response.Body
    /// The type of the body for an answer whose fields have none.
    var type: String?

    /// Returns the response to a request with this method.
    func response(to method: HTTPRequest.Method) -> HTTPDNSClient.Response {
        var fields = fields
        // These have no content (RFC 9110 section 6.4.1).
        let hasContent = status.kind != .informational && status != .noContent && status != .notModified
        if hasContent {
            if let type, !fields.contains(.contentType) { fields[.contentType] = type }
            if let length = body.declaredLength, !fields.contains(.contentLength), !fields.contains(.transferEncoding) {
                fields[.contentLength] = "\(length)"
            }
        }
        return HTTPDNSClient.Response(
            head: HTTPResponse(status: status, headerFields: fields),
            body: hasContent && method != .head ? body : .bytes([])
        )
    }
}

extension HTTPDNSClient.Response.Body {
    /// Returns a body from a stream with a declared length.
    static func stream(
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
        length: Int64?
    ) -> HTTPDNSClient.Response.Body {
        HTTPDNSClient.Response.Body.bytes([]).changed(to: chunks, length: length)
    }
}

extension HTTPDNSStubs.Answer {
    private static func whole(
        _ bytes: [UInt8],
        _ type: String?,
        _ status: HTTPResponse.Status,
        _ headers: HTTPFields,
        _ description: String
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                // A body is read once, so each use has its own.
                AnswerContent(status: status, fields: headers, body: .bytes(bytes), type: type)
                    .response(to: use.request.method)
            },
            description: status == .ok ? description : "\(status.code) \(description)"
        )
    }

    /// Returns an answer with a status.
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The header fields.
    ///   - body: The body. No type is added for it.
    public static func status(
        _ status: HTTPResponse.Status,
        headers: HTTPFields = [:],
        body: [UInt8] = []
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                AnswerContent(status: status, fields: headers, body: .bytes(body)).response(to: use.request.method)
            },
            description: "\(status.code)"
        )
    }

    /// Returns an answer with these bytes, of the type `application/octet-stream`.
    public static func bytes(
        _ bytes: [UInt8],
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        whole(bytes, MediaType.bytes, status, headers, "\(bytes.count) bytes")
    }

    /// Returns an answer with this text in UTF-8, of the type `text/plain; charset=utf-8`.
    public static func text(
        _ text: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        whole(Array(text.utf8), MediaType.text, status, headers, "text")
    }

    /// Returns an answer with this page in UTF-8, of the type `text/html; charset=utf-8`.
    public static func html(
        _ page: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        whole(Array(page.utf8), MediaType.html, status, headers, "HTML")
    }

    /// Returns an answer with this text, of the type `application/json`. The text is sent as it is, also when it is no
    /// JSON.
    public static func json(
        text: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        whole(Array(text.utf8), MediaType.json, status, headers, "JSON")
    }

    /// Returns an answer with a value as JSON, of the type `application/json`. It is encoded now, by Foundation's
    /// `JSONEncoder` with sorted keys.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `invalidJSON` for a value that cannot be encoded.
    public static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return whole(Array(try encoder.encode(value)), MediaType.json, status, headers, "JSON")
        } catch {
            throw HTTPDNSStubs.AnswerError(
                .invalidJSON,
                "a value of type \(type(of: value)) cannot be encoded as JSON: \(error)"
            )
        }
    }

    /// Returns an answer with an image. The type is that of the first bytes: PNG, JPEG, GIF, WebP, AVIF, BMP, TIFF, ICO
    /// or SVG. It is that of the name's extension when the bytes are of no known format, and `application/octet-stream`
    /// without one.
    public static func image(
        _ bytes: [UInt8],
        name: String = "",
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        let type = MediaType.ofImage(bytes) ?? MediaType.ofFile(name)
        return whole(bytes, type, status, headers, "image of \(bytes.count) bytes")
    }

    /// Returns an answer with a stream, which is read as the caller reads the body.
    /// - Parameters:
    ///   - length: The number of bytes of the stream, which becomes `Content-Length`; nil when it is not known. It is not
    ///     compared with the stream.
    ///   - status: The status.
    ///   - headers: The header fields. No type is added.
    ///   - chunks: Returns the stream of one request. An error of the stream reaches the reader of the body, as
    ///     `HTTPDNSClient.Response.Body.stream(_:)` says.
    public static func stream<Chunks: AsyncSequence<[UInt8], any Error> & Sendable>(
        length: Int64? = nil,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:],
        _ chunks: @escaping @Sendable () -> Chunks
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                AnswerContent(status: status, fields: headers, body: .stream(chunks(), length: length))
                    .response(to: use.request.method)
            },
            description: "a stream"
        )
    }

    /// Returns an answer that redirects the request. The client follows it by its own rules.
    /// - Parameters:
    ///   - location: The value of `Location`, which may be relative.
    ///   - status: The status, such as 302 or 307.
    ///   - headers: Further header fields.
    public static func redirect(
        to location: String,
        status: HTTPResponse.Status = .found,
        headers: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        var fields = headers
        fields[.location] = location
        return self.status(status, headers: fields)
    }
}
