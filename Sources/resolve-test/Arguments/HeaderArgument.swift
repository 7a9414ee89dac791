// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPTypes

/// The values of `-H`: header fields, and a Host field of the caller.
struct HeaderArgument: Sendable {
    var fields = HTTPFields()
    /// The replacement for the URL's own Host, from `-H 'Host: name'`.
    var hostHeader: String?
    /// The fields that are not sent, from `-H 'Name:'`.
    var removed: Set<HTTPField.Name> = []
    /// Remarks on fields that have no effect.
    private(set) var notes: [String] = []

    init(_ texts: [String]) throws(CommandFailure) {
        for text in texts {
            guard text.hasPrefix("@") else {
                try add(text)
                continue
            }
            let lines = RawText.text(try InputFile.bytes(text.dropFirst(), option: "-H @")).split(
                whereSeparator: \.isNewline
            )
            for line in lines { try add(String(line)) }
        }
    }

    /// Returns the part of a field that an error may repeat: not its value, which may be a credential.
    private static func label(_ text: String) -> String {
        guard text.contains(":") else { return "-H" }
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
        guard let (nameText, value) = try Self.split(text) else { return try remove(String(text.prefix { $0 != ":" })) }
        guard let name = HTTPField.Name(nameText) else {
            throw .usage(
                "\(Self.label(text)): the name of the field is invalid",
                hint: "a name has letters, digits and !#$%&'*+-.^_`|~, and a colon follows it"
            )
        }
        guard HTTPField.isValidValue(value) else {
            throw .usage("\(Self.label(text)): the value cannot have a control character")
        }
        guard !Self.namesOfConnection.contains(name.canonicalName) else {
            guard !value.lowercased().split(separator: ",").contains(where: { $0.contains("upgrade") }) else {
                throw .usage(
                    "\(Self.label(text)): fetch does not change the protocol of a connection",
                    hint: "leave it out"
                )
            }
            notes.append("-H '\(name.rawName): ...' has no effect: the client keeps and closes connections")
            return
        }
        guard name.canonicalName == "host" else {
            fields.append(HTTPField(name: name, value: RawText.bytes(value)))
            return
        }
        guard hostHeader == nil, !value.isEmpty else {
            throw .usage("\(Self.label(text)): Host can be given once only, and must not be empty")
        }
        hostHeader = value
    }

    private mutating func remove(_ nameText: String) throws(CommandFailure) {
        guard let name = HTTPField.Name(nameText) else { throw .usage("-H: the name of the field is invalid") }
        if name.canonicalName == "host" { notes.append("-H 'Host:' has no effect: Host is always sent") }
        removed.insert(name)
    }

    /// The fields about one connection, which browsers copy with the request, and proxies remove.
    private static let namesOfConnection: Set<String> = ["connection", "keep-alive", "proxy-connection"]

    /// Parses curl's forms: `Name: value`, `Name;` for an empty value, and `Name:` for no such field.
    /// - Returns: nil for a field that is removed.
    private static func split(_ text: String) throws(CommandFailure) -> (name: String, value: String)? {
        if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            let trimmed = String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            return trimmed.isEmpty ? nil : (String(text[..<colon]), trimmed)
        }
        guard text.hasSuffix(";") else {
            throw .usage("-H has a value without a colon, which is not a header field", hint: "write -H 'Name: value'")
        }
        return (String(text.dropLast()), "")
    }
}
#endif
