// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient.Request {
    /// Returns the request as a command line for `sh`, which sends it with curl 7.61 or newer.
    ///
    /// - All texts of the request are quoted: none of them is run, expanded, or read as an option or the name of a file.
    /// - The command has the method, the canonical URL, the header fields, the body, and the options for addresses, Unix
    ///   socket, proxy, families, versions and time limit. Of several addresses it has the first one.
    /// - It has what the request has: fields, cookies and credentials that the client adds are not in it. A network
    ///   interceptor sees the request with all of them. It follows no redirects.
    /// - Fields that curl would add are switched off, except `Accept-Encoding` where the client requests content codings too.
    /// - A stream, and a body in memory of more than 64 KiB, are read from the standard input of the command. A file is read
    ///   where it is.
    /// - A text that is no URL is printed without anything that could be a secret, and curl fails with it.
    /// - Fields that a redirect to another origin drops are secrets too. A body in memory that is neither a form nor JSON is
    ///   replaced as a whole.
    /// - Parameter redaction: The secrets that are replaced by `(redacted)`.
    public func curlCommand(redacting redaction: HTTPDNSClient.Redaction = .standard) -> String {
        CurlCommand(self, redaction.forCommands).text
    }
}

/// The command line of a request, as words for a POSIX shell.
private struct CurlCommand {
    /// The longest body that is part of the command. A single argument has at most 128 KiB on Linux.
    private static let maximumBody = 64 * 1024

    private let redaction: HTTPDNSClient.Redaction
    private var words = ["curl"]
    /// The command that writes the body, if it is no argument.
    private var source: String?

    init(_ request: HTTPDNSClient.Request, _ redaction: HTTPDNSClient.Redaction) {
        self.redaction = redaction
        let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        add("globoff")
        add("path-as-is")
        // curl would read files and speak other protocols than HTTP.
        add("proto", "=http,https")
        addMethod(of: request)
        addFields(of: request, canonical)
        if let own = request.own, own.isResolved || !own.settings.changes.isEmpty { add(own.options, canonical) }
        if request.isDecoded, !request.headerFields.contains(.acceptEncoding) { add("compressed") }
        addBody(of: request)
        add("url", url(of: request, canonical))
    }

    var text: String { (source.map { "\($0) | " } ?? "") + words.joined(separator: " ") }

    private mutating func add(_ option: String) { words.append("--\(option)") }

    private mutating func add(_ option: String, _ value: String) {
        add(option)
        words.append(CurlCommand.quoted(value))
    }

    // MARK: the parts of a request

    private mutating func addMethod(of request: HTTPDNSClient.Request) {
        if request.method == .head {
            add("head")
        } else if request.method != (request.body.isEmpty ? .get : .post) {
            add("request", request.method.rawValue)
        }
    }

    private func url(of request: HTTPDNSClient.Request, _ canonical: HTTPDNSRewriter.CanonicalURL?) -> String {
        guard let canonical else { return redaction.isOn ? URLText.forErrors(request.url) : request.url }
        return "\(canonical.scheme)://\(canonical.authority)\(redaction.target(canonical.target))"
    }

    private func redacted(_ field: HTTPField) -> HTTPField {
        guard redaction.isOn else { return field }
        if field.name == .referer {
            let url = redaction.url(ofServer: String(field.uriReference.prefix { $0 != "?" && $0 != "#" }))
            return HTTPField(name: field.name, value: url)
        }
        let isSecret = HTTPDNSClient.RedirectPolicy().withholds(field)
        let value = isSecret ? Array(HTTPDNSClient.Redaction.mark.utf8) : redaction.bytes(of: field)
        return HTTPField(name: field.name, lenientValue: value)
    }

    private mutating func addFields(of request: HTTPDNSClient.Request, _ canonical: HTTPDNSRewriter.CanonicalURL?) {
        let fields = request.headerFields
        for field in fields { addField(field) }
        if let host = request.own?.options.hostHeader { addField("Host", host) }
        if let credential = canonical?.parsed.credential, !fields.contains(.authorization),
            let field = try? BasicCredential.field(for: credential)
        {
            addField(field)
        }
        if let coding = request.body.coding, coding == .gzip { addField("Content-Encoding", coding.name) }
        if !fields.contains(.contentType), !request.body.isEmpty || request.sendsEmptyBody {
            addField("Content-Type", request.body.contentType)
        }
        if !fields.contains(.userAgent) { addField("User-Agent", nil) }
        if !request.body.isEmpty, !fields.contains(.expect) { addField("Expect", nil) }
    }

    private mutating func addField(_ field: HTTPField) {
        let field = redacted(field)
        let isText = field.withUnsafeBytesOfValue { String(validating: $0, as: UTF8.self) != nil }
        guard !isText else { return addField(field.name.rawName, field.value) }
        // Not every sh knows $'\xNN'. A value ends with no line break, which the substitution would remove.
        let bytes = field.withUnsafeBytesOfValue { Array("\(field.name.rawName): ".utf8) + $0 }
        add("header")
        words.append("\"$(\(CurlCommand.printing(bytes)))\"")
    }

    /// - Parameter value: Nil leaves the field out.
    private mutating func addField(_ name: String, _ value: String?) {
        // An empty value has a form of its own.
        add("header", value.map { $0.isEmpty ? "\(name);" : "\(name): \($0)" } ?? "\(name):")
    }

    private mutating func add(_ options: HTTPDNSClient.Request.Options, _ canonical: HTTPDNSRewriter.CanonicalURL?) {
        if let path = options.unixSocket { add("unix-socket", path) }
        if let canonical, let target = options.addresses.targets?.first,
            let endpoint = try? target.endpoint(port: canonical.port)
        {
            let host = canonical.parsed.hostText
            add("connect-to", "\(host):\(canonical.port):\(endpoint.address.bracketed):\(endpoint.port)")
        }
        switch options.proxy.content {
        case .off: add("noproxy", "*")
        case .through(let proxy, _): add("proxy", proxy.description)
        case .environment: break
        }
        if options.families == .v4 { add("ipv4") }
        if options.families == .v6 { add("ipv6") }
        switch options.versions.kind {
        case .http1Only: add("http1.1")
        case .http10Only: add("http1.0")
        case .http2Only: add(canonical?.parsed.scheme == .http ? "http2-prior-knowledge" : "http2")
        case .automatic: break
        }
        if let limit = options.timeouts.total {
            add("max-time", "\(max(0.001, limit / .seconds(1)))")
        }
    }

    private mutating func addBody(of request: HTTPDNSClient.Request) {
        let type = request.headerFields[.contentType] ?? request.body.contentType
        switch request.body.content {
        case .none:
            // curl sends Content-Length: 0 for an empty body, as the client does.
            if request.sendsEmptyBody { add("data-raw", "") }
        case .bytes(let bytes):
            let bytes = redacted(bytes, mediaType: type)
            if bytes.count > CurlCommand.maximumBody {
                read(from: nil, request)
            } else if request.body.coding == nil, let text = CurlCommand.text(of: bytes) {
                add("data-raw", text)
            } else {
                read(from: CurlCommand.printing(bytes), request)
            }
        case .stream: read(from: nil, request)
        case .pieces(let pieces):
            if pieces.count == 1, case .file(let path) = pieces[0], request.body.coding == nil {
                return add("data-binary", "@\(CurlCommand.path(path))")
            }
            let commands = masked(pieces).map { piece in
                switch piece {
                case .bytes(let bytes): CurlCommand.printing(bytes)
                case .file(let path): "cat \(CurlCommand.quoted(CurlCommand.path(path)))"
                }
            }
            read(from: commands.count == 1 ? commands[0] : "{ \(commands.joined(separator: "; ")); }", request)
        }
    }

    /// Lets curl read the body from a command; nil for the standard input.
    private mutating func read(from command: String?, _ request: HTTPDNSClient.Request) {
        // There is no command for the other coding: the body is sent without it.
        let coded = request.body.coding == .gzip ? "gzip -c" : nil
        source = command.map { coded.map { coding in "\(command ?? "") | \(coding)" } ?? $0 } ?? coded
        add("data-binary", "@-")
    }

    /// Returns a body in memory.
    private func redacted(_ bytes: [UInt8], mediaType: String?) -> [UInt8] {
        guard redaction.isOn, !bytes.isEmpty else { return bytes }
        let type = mediaType.map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " } }
        let isJSON = type == nil || type == "application/json" || type?.hasSuffix("+json") == true
        guard type == "application/x-www-form-urlencoded" || isJSON && CodableJSON(bytes) != nil else {
            return Array(HTTPDNSClient.Redaction.mark.utf8)
        }
        let text = redaction.body(String(decoding: bytes, as: UTF8.self), mediaType: type ?? "")
        return Array((text ?? HTTPDNSClient.Redaction.mark).utf8)
    }

    /// Returns the parts of a multipart form without their secrets. A file stays where it is.
    private func masked(_ pieces: [BodyPart]) -> [BodyPart] {
        guard redaction.isOn else { return pieces }
        // The piece behind the head of a part is its content.
        var head: MultipartText.Part?
        return pieces.map { piece in
            let part = head
            head = nil
            guard case .bytes(let bytes) = piece else { return piece }
            if let part { return .bytes(redacted(bytes, of: part)) }
            head = bytes.suffix(4) == Array("\r\n\r\n".utf8)[...] ? MultipartText(bytes)?.parts.last : nil
            return piece
        }
    }

    private func redacted(_ bytes: [UInt8], of part: MultipartText.Part) -> [UInt8] {
        if let name = part.name, redaction.isSecret(part: name) { return Array(HTTPDNSClient.Redaction.mark.utf8) }
        guard let text = UTF8Text.plain(bytes[...]) else { return bytes }
        return Array((redaction.body(text, mediaType: part.mediaType) ?? HTTPDNSClient.Redaction.mark).utf8)
    }

    // MARK: words of a shell

    /// Returns a text as one word. An argument ends at a NUL, which is therefore percent-encoded.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy({ isPlain($0) }) { return text }
        let text = text.replacing("\0", with: "%00")
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }

    /// Returns the path of a file that is no option and not the standard input.
    private static func path(_ path: String) -> String { path.hasPrefix("/") ? path : "./\(path)" }

    /// Returns the text of bytes; nil for bytes that cannot be an argument.
    private static func text(of bytes: [UInt8]) -> String? {
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns a command that prints bytes, whatever the locale.
    private static func printing(_ bytes: [UInt8]) -> String {
        var format = ""
        for byte in bytes {
            if isPlain(byte) || byte == UInt8(ascii: " ") {
                format.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 8)
                format += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
        }
        // A first character of `-` would be an option.
        return "printf -- '\(format)'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetterOrDigit(or: "-._/:,") }
}

extension HTTPDNSClient.Request {
    /// Whether a request without a body states so, see RFC 9110 section 8.6.
    fileprivate var sendsEmptyBody: Bool { body.isEmpty && (method == .post || method == .put || method == .patch) }
}
