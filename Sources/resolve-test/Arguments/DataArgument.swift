// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import Foundation
internal import HTTPDNSPrimitives

/// A value of `-d` and its relatives: a part of a request body, by curl's rules.
struct DataArgument: ExpressibleByArgument, Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        /// `-d`, `--data-ascii`: `@FILE` is read without its CR, LF and NUL.
        case plain
        /// `--data-binary`: `@FILE` is read unchanged.
        case binary
        /// `--data-raw`: an `@` is a character.
        case raw
        /// `--data-urlencode`: the content is percent-encoded.
        case encoded
    }

    /// The reading by the option as written.
    static let kinds: [String: Kind] = [
        "-d": .plain, "--data": .plain, "--data-ascii": .plain, "--data-binary": .binary, "--data-raw": .raw,
        "--data-urlencode": .encoded,
    ]

    let kind: Kind
    let text: String

    init(_ text: String, _ kind: Kind = .plain) { (self.text, self.kind) = (text, kind) }

    /// Creates a part from a value, or from one that ``marked(_:_:)`` returned.
    init(argument: String) {
        guard let end = argument.firstIndex(of: "\0"), let kind = Kind(rawValue: String(argument[..<end])) else {
            self.init(argument)
            return
        }
        self.init(String(argument[argument.index(after: end)...]), kind)
    }

    /// Returns the value with its reading in front. All parts are values of one option then, which keeps their order. A NUL
    /// cannot be in an argument of a program.
    static func marked(_ value: String, _ kind: Kind) -> String {
        kind == .plain ? value : "\(kind.rawValue)\0\(value)"
    }

    /// Returns the bytes of a body: the parts, joined by `&`.
    static func bytes(_ parts: [DataArgument]) throws(CommandFailure) -> [UInt8] {
        var body: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            body += try part.bytes()
        }
        return body
    }

    private func bytes() throws(CommandFailure) -> [UInt8] {
        switch kind {
        case .raw: return Array(text.utf8)
        case .encoded: return try encodedBytes()
        case .plain, .binary:
            guard text.hasPrefix("@") else { return Array(text.utf8) }
            let content = try InputFile.bytes(text.dropFirst(), option: kind == .plain ? "-d @" : "--data-binary @")
            return kind == .binary ? content : content.filter { $0 != 0x0d && $0 != 0x0a && $0 != 0x00 }
        }
    }

    /// Returns the bytes of `CONTENT`, `=CONTENT`, `NAME=CONTENT`, `@FILE` or `NAME@FILE`.
    private func encodedBytes() throws(CommandFailure) -> [UInt8] {
        guard let separator = text.firstIndex(where: { $0 == "=" || $0 == "@" }) else {
            return Self.percentEncoded(Array(text.utf8))
        }
        let rest = text[text.index(after: separator)...]
        let content =
            text[separator] == "=" ? Array(rest.utf8) : try InputFile.bytes(rest, option: "--data-urlencode @")
        let name = text[..<separator]
        return Array((name.isEmpty ? "" : "\(name)=").utf8) + Self.percentEncoded(content)
    }

    /// Returns the bytes as curl encodes them: letters, digits and `-._~` stay.
    static func percentEncoded(_ bytes: [UInt8], blank: String = "+") -> [UInt8] {
        let texts = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        return Array(texts.map { PercentCoding.encoded($0, keeping: "-._~") }.joined(separator: blank).utf8)
    }
}

/// A file that an argument names; `-` is standard input.
enum InputFile {
    /// Returns the content.
    /// - Parameter option: The option with the sign in front of the path, for errors.
    static func bytes(_ path: some StringProtocol, option: String) throws(CommandFailure) -> [UInt8] {
        do {
            let handle =
                path == "-"
                ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: String(path)))
            return Array(try handle.readToEnd() ?? Data())
        } catch {
            throw .usage(
                "\(option)\(path): the file cannot be read",
                hint: option == "-d @" ? "to send data that begins with @, write --data-raw" : nil
            )
        }
    }

    static func text(_ path: some StringProtocol, option: String) throws(CommandFailure) -> String {
        guard let text = String(validating: try bytes(path, option: option), as: UTF8.self) else {
            throw .usage("\(option)\(path): the file is not UTF-8")
        }
        return text
    }
}
#endif
