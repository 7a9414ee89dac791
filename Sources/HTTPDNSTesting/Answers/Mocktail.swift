// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPDNSStubs {
    /// A file in Mocktail's format: the condition on requests and their answer.
    ///
    /// ```
    /// GET
    /// https?://shop\.example/items/[0-9]+$
    /// 200
    /// application/json
    /// Cache-Control: no-store
    ///
    /// {"name": "lamp"}
    /// ```
    ///
    /// The first line is a regular expression that is found in the method, and the second one is found in the URL. Both
    /// ignore case, and have the syntax of Swift's `Regex`. The third line is the status. The fourth is the content type,
    /// alone or as a header field. Header fields may follow. The rest after an empty line is the body. It is in Base64 when
    /// the content type ends with `;base64`, which is removed. Lines end with LF or CRLF.
    public struct Mocktail: Sendable {
        /// The condition on the method and the URL.
        public let predicate: HTTPDNSClient.RequestPredicate
        /// The answer.
        public let answer: HTTPDNSStubs.Answer

        /// Returns the Mocktails of a folder: its files with the extension `tail`, in the order of their names. Files in
        /// folders inside it are not read.
        /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable`, `notFolder` or `malformedMocktail`, the file and the
        ///   line. The first file that fails ends the reading.
        public static func folder(_ path: String) throws(HTTPDNSStubs.AnswerError) -> [Mocktail] {
            var isFolder = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                throw AnswerError(.unreadable, "there is no such folder", file: path)
            }
            guard isFolder else { throw AnswerError(.notFolder, "it is not a folder", file: path) }
            let names: [String]
            do {
                names = try FileManager.default.contentsOfDirectory(atPath: path)
            } catch {
                throw AnswerError(.unreadable, "the folder cannot be read: \(error)", file: path)
            }
            var mocktails: [Mocktail] = []
            for name in names.sorted() where name.hasSuffix(".tail") {
                mocktails.append(try Mocktail(file: "\(path)/\(name)"))
            }
            return mocktails
        }

        /// Reads a file.
        /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable` or `malformedMocktail`, the file and the line.
        public init(file path: String) throws(HTTPDNSStubs.AnswerError) {
            let bytes: [UInt8]
            do {
                bytes = try ReadableFile.contents(of: path)
            } catch {
                throw .unreadable(error, path)
            }
            try self.init(bytes, file: path)
        }

        /// - Parameter path: The file that has the bytes.
        init(_ bytes: [UInt8], file path: String) throws(HTTPDNSStubs.AnswerError) {
            var lines = MessageLines(bytes, .malformedMocktail, path)
            let method = try Self.expression(Self.line(&lines, "a regular expression for the method"), lines)
            let url = try Self.expression(Self.line(&lines, "a regular expression for the URL"), lines)
            let status = try Self.status(Self.line(&lines, "the status"), lines)
            var fields = try Self.typeLine(&lines)
            while let line = lines.next(), !line.isEmpty {
                let field = try lines.field(line)
                fields[field.name] = nil
                fields.append(field)
            }
            var body = lines.rest
            let mark = ";base64"
            if let type = fields[.contentType], type.lowercased().hasSuffix(mark) {
                fields[.contentType] = String(type.dropLast(mark.utf8.count))
                guard let decoded = Data(base64Encoded: Data(body), options: .ignoreUnknownCharacters) else {
                    throw lines.error("the body after this line is not Base64")
                }
                body = Array(decoded)
            }
            predicate = .custom("Mocktail \(path.escaped(limit: 200))") { request in
                Self.isFound(method, in: request.method.rawValue) && Self.isFound(url, in: request.url)
            }
            answer = .status(status, headers: fields, body: body)
        }

        private static func line(
            _ lines: inout MessageLines,
            _ content: String
        ) throws(HTTPDNSStubs.AnswerError) -> String {
            guard let line = lines.next(), !line.isEmpty else { throw lines.error("\(content) is missing here") }
            return String(decoding: line, as: UTF8.self)
        }

        private static func expression(
            _ text: String,
            _ lines: MessageLines
        ) throws(HTTPDNSStubs.AnswerError) -> String {
            do {
                _ = try Regex(text)
                return text
            } catch {
                throw lines.error("\"\(text.escaped(limit: 200))\" is no regular expression: \(error)")
            }
        }

        /// Whether a regular expression matches a part of a text, in any case. It is made again for each text, because a
        /// Regex is not Sendable.
        private static func isFound(_ expression: String, in text: String) -> Bool {
            guard let expression = try? Regex(expression).ignoresCase() else { return false }
            return text.contains(expression)
        }

        private static func status(
            _ text: String,
            _ lines: MessageLines
        ) throws(HTTPDNSStubs.AnswerError) -> HTTPResponse.Status {
            guard let code = Int(digits: text), (200...599).contains(code) else {
                throw lines.error("the status is not a number from 200 to 599")
            }
            return HTTPResponse.Status(code: code)
        }

        /// Reads the line with the content type: the type alone, or a header field.
        private static func typeLine(_ lines: inout MessageLines) throws(HTTPDNSStubs.AnswerError) -> HTTPFields {
            let text = try line(&lines, "the content type")
            if text.contains(":") { return HTTPFields([try lines.field(Array(text.utf8)[...])]) }
            return [.contentType: text]
        }
    }
}
