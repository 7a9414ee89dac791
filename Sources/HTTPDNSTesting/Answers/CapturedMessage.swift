// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A captured HTTP response: a status line, header fields, an empty line and a body (RFC 9112).
struct CapturedMessage: Hashable, Sendable {
    private(set) var status: HTTPResponse.Status
    private(set) var version: HTTPDNSClient.HTTPVersion
    private(set) var fields: HTTPFields
    /// The body without its transfer coding.
    private(set) var body: [UInt8]

    /// The text of the statuses whose responses have no body.
    private static let withoutBody: Set<Int> = [204, 304]

    /// Reads a message. Lines end with CRLF or LF. Interim responses (1xx) before the response are skipped.
    ///
    /// The body is as long as `Content-Length` says. Bytes after it are ignored. A body in the chunked coding is decoded. A
    /// body that names the coding and does not begin with a chunk was decoded by the tool that captured it, as by `curl
    /// --include`, and is kept. Without both fields, the body is the rest of the bytes.
    /// - Parameter file: The file that has the bytes, for errors.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `malformedMessage`.
    init(_ bytes: [UInt8], file: String? = nil) throws(HTTPDNSStubs.AnswerError) {
        var lines = MessageLines(bytes, .malformedMessage, file)
        repeat {
            (version, status) = try Self.statusLine(&lines)
            fields = try Self.fields(&lines)
        } while status.kind == .informational
        guard !Self.withoutBody.contains(status.code) else {
            body = []
            return
        }
        // The last coding frames the message (RFC 9112 section 6.3).
        if let coding = fields[.transferEncoding]?.split(separator: ",").last {
            guard coding.trimmed.lowercased() == "chunked" else {
                throw lines.error(
                    "the transfer coding \"\(coding.trimmed)\" is not supported; it is not chunked"
                )
            }
            body = lines.beginsWithChunk ? try Self.chunked(&lines) : lines.rest
            return
        }
        guard let length = try Self.length(fields, lines) else {
            body = lines.rest
            return
        }
        guard lines.rest.count >= length else {
            throw lines.error("Content-Length is \(length), and only \(lines.rest.count) bytes of the body are there")
        }
        body = Array(lines.rest.prefix(length))
    }

    private static func statusLine(
        _ lines: inout MessageLines
    ) throws(HTTPDNSStubs.AnswerError) -> (HTTPDNSClient.HTTPVersion, HTTPResponse.Status) {
        guard let line = lines.next() else { throw lines.error("the status line is missing") }
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        let versions: [String: HTTPDNSClient.HTTPVersion] = [
            "HTTP/1.0": .http10, "HTTP/1.1": .http11, "HTTP/2": .http2, "HTTP/2.0": .http2,
        ]
        guard let version = versions[String(decoding: parts[0], as: UTF8.self)] else {
            throw lines.error("a status line such as \"HTTP/1.1 200 OK\" is expected")
        }
        guard parts.count > 1, parts[1].count == 3, let code = Int(digits: String(decoding: parts[1], as: UTF8.self)),
            (100...599).contains(code)
        else { throw lines.error("the status is not a number from 100 to 599") }
        let reason = parts.count > 2 ? String(decoding: parts[2], as: UTF8.self) : ""
        return (version, HTTPResponse.Status(code: code, reasonPhrase: reason))
    }

    private static func fields(_ lines: inout MessageLines) throws(HTTPDNSStubs.AnswerError) -> HTTPFields {
        var fields = HTTPFields()
        while true {
            guard let line = lines.next() else {
                throw lines.error("the empty line after the header fields is missing")
            }
            if line.isEmpty { return fields }
            fields.append(try lines.field(line))
        }
    }

    /// Returns the length that the fields declare; nil without one.
    private static func length(
        _ fields: HTTPFields,
        _ lines: MessageLines
    ) throws(HTTPDNSStubs.AnswerError) -> Int? {
        let values = Set(fields[values: .contentLength])
        guard let value = values.first else { return nil }
        guard values.count == 1, let length = Int(digits: value) else {
            throw lines.error("Content-Length is not one number")
        }
        return length
    }

    /// Reads chunks up to the last one, with the trailers.
    private static func chunked(_ lines: inout MessageLines) throws(HTTPDNSStubs.AnswerError) -> [UInt8] {
        var body: [UInt8] = []
        while true {
            guard let line = lines.next() else { throw lines.error("the last chunk, of the size 0, is missing") }
            guard let size = MessageLines.chunkSize(line) else { throw lines.error("the size of a chunk is expected") }
            guard size > 0 else { break }
            guard let chunk = lines.take(size) else {
                throw lines.error("a chunk has \(size) bytes, and only \(lines.rest.count) are there")
            }
            body += chunk
            guard lines.next()?.isEmpty == true else {
                throw lines.error("the end of the line after a chunk is missing")
            }
        }
        while let line = lines.next(), !line.isEmpty { _ = try lines.field(line) }
        return body
    }
}

/// The lines of a message or of a file, with their numbers.
struct MessageLines {
    private let bytes: [UInt8]
    private let code: HTTPDNSStubs.AnswerError.Code
    private let file: String?
    private var offset = 0
    /// The number of the last line, from 1; 0 before the first.
    private(set) var number = 0

    init(_ bytes: [UInt8], _ code: HTTPDNSStubs.AnswerError.Code, _ file: String?) {
        self.bytes = bytes
        self.code = code
        self.file = file
    }

    /// The bytes after the last line.
    var rest: [UInt8] { Array(bytes[offset...]) }

    /// Returns the next line without its end; nil at the end of the bytes. A last line without an end counts.
    mutating func next() -> ArraySlice<UInt8>? {
        guard offset < bytes.count else { return nil }
        let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        var line = bytes[offset..<end]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        offset = min(end + 1, bytes.count)
        number += 1
        return line
    }

    /// Returns bytes that are not a line; nil when there are not enough.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= bytes.count - offset else { return nil }
        let taken = bytes[offset..<(offset + count)]
        offset += count
        number += taken.count { $0 == UInt8(ascii: "\n") }
        return taken
    }

    /// Returns the field of a line: `name: value`.
    func field(_ line: ArraySlice<UInt8>) throws(HTTPDNSStubs.AnswerError) -> HTTPField {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw error("a header field such as \"Content-Type: text/plain\" is expected")
        }
        guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)) else {
            throw error("the text before the colon is no name of a header field")
        }
        let value = line[(colon + 1)...].trimmed
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") }) else {
            throw error("the value of \(name) contains a control character")
        }
        return HTTPField(name: name, value: value)
    }

    /// Whether the rest begins with the line of a chunk's size.
    var beginsWithChunk: Bool {
        var lines = self
        return lines.next().flatMap(Self.chunkSize) != nil
    }

    /// Returns the size in the line of a chunk, whose extensions are ignored; nil for another line.
    static func chunkSize(_ line: ArraySlice<UInt8>) -> Int? {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }.trimmed
        // Fifteen digits are below the limit of Int.
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        var size = 0
        for byte in digits {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            size = size << 4 | digit
        }
        return size
    }

    /// Returns an error about the last line.
    func error(_ message: String) -> HTTPDNSStubs.AnswerError {
        HTTPDNSStubs.AnswerError(code, message, file: file, line: max(1, number))
    }
}

extension HTTPDNSStubs.Answer {
    /// Returns an answer with a captured response in a file, such as the output of `curl --include`. The file is read now.
    ///
    /// The message has a status line, header fields, an empty line and a body, with CRLF or LF as the ends of lines. Interim
    /// responses (1xx) are skipped. The body ends after `Content-Length` bytes, with its last chunk, or with the file. A
    /// chunked body is decoded, also when the tool that captured it has done so already. Header fields are kept as they are,
    /// trailers are dropped, and a content coding is not decoded.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable` or `malformedMessage`, the file and the line.
    public static func message(file path: String) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        let bytes: [UInt8]
        do {
            bytes = try ReadableFile.contents(of: path)
        } catch {
            throw .unreadable(error, path)
        }
        return message(try CapturedMessage(bytes, file: path), "message \(path)")
    }

    /// Returns an answer with a captured response, as ``message(file:)`` does.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `malformedMessage` and the line.
    public static func message(bytes: [UInt8]) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        message(try CapturedMessage(bytes), "a message")
    }

    private static func message(_ message: CapturedMessage, _ description: String) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                let content = AnswerContent(
                    status: message.status,
                    fields: message.fields,
                    body: .bytes(message.body)
                )
                var response = content.response(to: use.request.method)
                response.version = message.version
                return response
            },
            description: description
        )
    }
}
