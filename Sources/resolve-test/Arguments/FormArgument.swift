// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// A value of `-F`: a part of a multipart form, by curl's rules.
enum FormArgument {
    /// Returns the part of `NAME=CONTENT`, `NAME=@FILE` or `NAME=<FILE`, with `;type=TYPE` and `;filename=NAME` behind.
    static func part(_ text: String) throws(CommandFailure) -> HTTPDNSClient.Request.Body.Part {
        if text.hasPrefix("\0") { return try self.text(String(text.dropFirst())) }
        let (name, content) = try split(text, option: "-F")
        let isFile = content.hasPrefix("@")
        let isText = content.hasPrefix("<")
        var pieces = pieces(isFile || isText ? content.dropFirst() : content)
        let value = pieces.removeFirst()
        var type: String?
        var fileName: String?
        var isInType = false
        for piece in pieces {
            let word = trimmed(piece)
            switch word {
            case _ where word.hasPrefix("type="): (type, isInType) = (unquoted(word.dropFirst("type=".count)), true)
            case _ where word.hasPrefix("filename="):
                (fileName, isInType) = (unquoted(word.dropFirst("filename=".count)), false)
            case _ where isInType && !word.hasPrefix("headers=") && !word.hasPrefix("encoder="):
                // A parameter of the type, such as a charset.
                type = (type ?? "") + ";" + piece.prefix { $0 == " " || $0 == "\t" } + word
            default:
                throw .usage(
                    "-F \"\(name)=...;\(word.prefix { $0 != "=" })\" is not supported",
                    hint: "supported are ;type=TYPE and ;filename=NAME; --form-string takes the text as it is"
                )
            }
        }
        let path = unquoted(trimmed(value))
        if isFile { return try file(name, path, fileName, type) }
        let bytes = isText ? try InputFile.bytes(path, option: "-F \(name)=<") : Array(path.utf8)
        if let fileName {
            return .bytes(name, fileName: fileName, contentType: type ?? "application/octet-stream", bytes)
        }
        return .field(name, bytes: bytes, contentType: type)
    }

    /// Returns a value of `--form-string` as one of `-F`, so that all parts keep their order. A NUL cannot be in an argument of a
    /// program.
    static func marked(_ value: String) -> String { "\0\(value)" }

    /// Returns the part of `NAME=CONTENT`, whose content is not read in any way (`--form-string`).
    private static func text(_ text: String) throws(CommandFailure) -> HTTPDNSClient.Request.Body.Part {
        let (name, content) = try split(text, option: "--form-string")
        return .field(name, String(content))
    }

    private static func split(_ text: String, option: String) throws(CommandFailure) -> (String, Substring) {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
            throw .usage("\(option) has a value that is not NAME=CONTENT", hint: "such as \(option) photo=@a.jpg")
        }
        return (String(text[..<equals]), text[text.index(after: equals)...])
    }

    private static func file(_ name: String, _ path: String, _ fileName: String?, _ type: String?)
        throws(CommandFailure) -> HTTPDNSClient.Request.Body.Part
    {
        let shown = fileName ?? (path.split(separator: "/").last.map(String.init) ?? path)
        let type = type ?? mediaType(of: shown)
        if path == "-" {
            let bytes = try InputFile.bytes(path, option: "-F \(name)=@")
            return .bytes(name, fileName: shown, contentType: type, bytes)
        }
        return .file(name, path: path, fileName: shown, contentType: type)
    }

    /// Returns the parts between the semicolons outside quotes.
    private static func pieces(_ text: Substring) -> [Substring] {
        var isQuoted = false
        return text.split(maxSplits: .max, omittingEmptySubsequences: false) { character in
            if character == "\"" { isQuoted.toggle() }
            return character == ";" && !isQuoted
        }
    }

    /// Returns the text without blanks around it.
    private static func trimmed(_ text: Substring) -> Substring {
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return text[...last].drop(while: \.isWhitespace)
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return String(text) }
        return String(text.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }

    /// Returns curl's media type for a file name.
    private static func mediaType(of name: String) -> String {
        let types = [
            ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
            ".svg": "image/svg+xml",
            ".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf",
            ".xml": "application/xml",
        ]
        let lower = name.lowercased()
        return types.first { lower.hasSuffix($0.key) }?.value ?? "application/octet-stream"
    }
}
#endif
