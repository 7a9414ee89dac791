// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPTypes

/// The values of `-H`: header fields, and a Host field of the caller.
struct HeaderArgument: Sendable {
    var fields = HTTPFields()
    /// The replacement for the URL's own Host, from `-H 'Host: name'`.
    var hostHeader: String?

    init(_ texts: [String]) throws(CommandFailure) {
        for text in texts {
            try add(text)
        }
    }

    /// Returns the part of a field that an error may repeat: not its value, which may be a credential.
    private static func label(_ text: String) -> String {
        let name = text.prefix { $0 != ":" && $0 != " " && $0 != "\t" }
        return "-H \"\(name)\(name.endIndex == text.endIndex ? "" : text[name.endIndex] == ":" ? ": ..." : " ...")\""
    }

    private mutating func add(_ text: String) throws(CommandFailure) {
        // Without this check a value could end the request head and start a second request.
        guard !text.utf8.contains(where: { $0 == 0x0d || $0 == 0x0a || $0 == 0x00 }) else {
            throw .usage(
                "\(Self.label(text)): a header field cannot have a line break or a NUL",
                hint: "give each field its own -H"
            )
        }
        let (nameText, value) = try Self.split(text)
        guard let name = HTTPField.Name(nameText) else {
            throw .usage(
                "\(Self.label(text)): \"\(nameText)\" is not a field name",
                hint: "a name has letters, digits and !#$%&'*+-.^_`|~, and a colon follows it"
            )
        }
        guard HTTPField.isValidValue(value) else {
            throw .usage("\(Self.label(text)): the value cannot have a control character")
        }
        guard name.canonicalName == "host" else {
            fields.append(HTTPField(name: name, value: value))
            return
        }
        guard hostHeader == nil, !value.isEmpty else {
            throw .usage("\(Self.label(text)): Host can be given once only, and must not be empty")
        }
        hostHeader = value
    }

    /// Parses curl's forms: `Name: value`, and `Name;` for an empty value.
    private static func split(_ text: String) throws(CommandFailure) -> (name: String, value: String) {
        if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            let trimmed = String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            guard !trimmed.isEmpty else {
                let name = text[..<colon]
                throw .usage("\(Self.label(text)) has no value", hint: "for an empty field write -H '\(name);'")
            }
            return (String(text[..<colon]), trimmed)
        }
        guard text.hasSuffix(";") else {
            throw .usage("\(Self.label(text)) is not a header field", hint: "write -H 'Name: value'")
        }
        return (String(text.dropLast()), "")
    }
}

/// The values of `-d` and `--data-binary`: the bytes of a request body, by curl's rules.
enum DataArgument {
    /// Returns the bytes: `@FILE` reads a file and `@-` standard input; several values are joined by `&`.
    /// - Parameter keepsLineBreaks: Whether CR, LF and NUL of files stay, as with curl's `--data-binary`.
    static func bytes(_ values: [String], keepsLineBreaks: Bool) throws(CommandFailure) -> [UInt8] {
        var body: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            guard value.hasPrefix("@") else {
                body += Array(value.utf8)
                continue
            }
            let content = try read(String(value.dropFirst()))
            body += keepsLineBreaks ? content : content.filter { $0 != 0x0d && $0 != 0x0a && $0 != 0x00 }
        }
        return body
    }

    private static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            let handle =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            return Array(try handle.readToEnd() ?? Data())
        } catch {
            throw .usage(
                "-d @\(path): the file cannot be read",
                hint: "to send data that begins with @, write it to a file"
            )
        }
    }
}
