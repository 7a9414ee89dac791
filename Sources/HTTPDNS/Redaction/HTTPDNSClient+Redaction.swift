// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
package import HTTPTypes

extension HTTPDNSClient {
    /// The secrets that are replaced by `(redacted)` in records, HAR files, recordings and command lines.
    ///
    /// Secrets are found by the name before a value (``names``), and by their form: JSON Web Tokens, values behind `Bearer`,
    /// `Basic` and similar schemes, private keys in PEM, and keys with the prefix of a known service. The texts of errors, logs
    /// and events are redacted with ``standard``.
    ///
    /// User information and fragments of URLs are removed. Bytes that are no text stay as they are.
    public struct Redaction: Hashable, Sendable {
        /// The names of secrets: of header fields, query items, items of paths, form fields, members of JSON, attributes and
        /// elements of markup, and of `name=value` and `name: value` in texts.
        ///
        /// Names have any case; `-` and `_` do not count. A star in front stands for any start, and one at the end for any
        /// end: `*token*` also means `X-Auth-Token` and `id_token_hint`. A name in brackets or behind a dot counts by itself:
        /// `user[password]` is a password.
        public var names: Set<String> { didSet { rules = Rules(names, namesInURLs) } }
        /// Further names of query items, items of paths and form fields. They are usual names of other values elsewhere.
        public var namesInURLs: Set<String> = ["code", "key"] { didSet { rules = Rules(names, namesInURLs) } }
        /// Whether anything is replaced.
        public var isOn = true
        /// The names in the form in which texts are searched for them.
        private var rules: Rules

        /// The names of common secrets.
        public static let commonSecrets: Set<String> = SecretNames.common

        /// Creates a redaction of the given names.
        public init(names: Set<String> = commonSecrets) {
            self.names = names
            rules = Rules(names, namesInURLs)
        }

        /// The default: the names of ``commonSecrets``.
        public static let standard = Redaction()
        /// Nothing is replaced. The text has every secret.
        public static let off: Redaction = {
            var redaction = Redaction()
            redaction.isOn = false
            return redaction
        }()
    }
}

extension HTTPDNSClient.Redaction {
    /// The text in the place of a secret. A URL may contain it.
    package static let mark = "(redacted)"

    /// The names of a redaction, and the scans for them.
    private final class Rules: Hashable, Sendable {
        let names: SecretNames
        /// Whether the names of usual fields are those of secrets: matching them costs more than finding them here.
        let knownNames: [String: Bool]
        /// The names of query items, items of paths and form fields.
        let urlNames: SecretNames
        /// The names of members of JSON.
        let members: SecretNames
        /// Whether numbers, lists and objects in JSON stay numbers, lists and objects.
        let keepsTypes: Bool
        /// The scans of messages, of paths, of URLs in errors, and of header values and bodies.
        let messages: SecretScan
        let paths: SecretScan
        let shown: SecretScan
        let texts: SecretScan
        /// The values of header fields that were searched and have no secret: most messages of a service repeat them. They
        /// stay when a monitor has ended.
        let harmless = Lock<Set<String>>([])
        /// The hashes of the names in response heads without the name of a secret.
        let harmlessNames = Lock<Set<Int>>([])
        /// About 100 KB: a value has at most 100 bytes.
        static let maximumHarmless = 1000

        init(
            _ all: Set<String>,
            _ namesInURLs: Set<String>,
            searchesJSONForURLs: Bool = false,
            keepsTypes: Bool = false
        ) {
            let names = SecretNames(all)
            self.names = names
            knownNames = Dictionary(
                uniqueKeysWithValues: Self.usualNames.map { ($0.canonicalName, names.contains($0.rawName.utf8)) }
            )
            urlNames = SecretNames(all.union(namesInURLs))
            members = searchesJSONForURLs ? urlNames : names
            self.keepsTypes = keepsTypes
            messages = SecretScan(names: urlNames, members: members)
            paths = SecretScan(names: urlNames, members: members, ends: SecretScan.pathEnds)
            shown = SecretScan(names: urlNames, members: members, ends: SecretScan.pathEnds, removesUsers: false)
            texts = SecretScan(names: urlNames, members: members, lines: names, keepsTypes: keepsTypes)
        }

        // They follow from the names.
        static func == (_: Rules, _: Rules) -> Bool { true }
        func hash(into _: inout Hasher) {}

        private static let usualNames: [HTTPField.Name] = [
            .accept, .acceptEncoding, .acceptLanguage, .acceptRanges, .age, .authorization, .cacheControl, .connection,
            .contentEncoding, .contentLength, .contentType, .cookie, .date, .eTag, .expires, .lastModified, .location,
            .server, .setCookie, .strictTransportSecurity, .transferEncoding, .userAgent, .vary,
        ]
    }

    /// The same redaction for command lines: the names of secrets in URLs are also those of members of JSON.
    var forCommands: Self {
        var redaction = self
        redaction.rules = Rules(names, namesInURLs, searchesJSONForURLs: true)
        return redaction
    }

    /// The same redaction, by which numbers, lists and objects in JSON stay numbers, lists and objects.
    package var keepingTypes: Self {
        var redaction = self
        redaction.rules = Rules(names, namesInURLs, keepsTypes: true)
        return redaction
    }

    // MARK: URLs

    /// Returns the text of the URL of a request, without user information and fragment.
    /// - Parameters:
    ///   - canonical: The URL in canonical form; nil for a text that is no http or https URL.
    ///   - text: The text of the URL.
    package func url(_ canonical: HTTPDNSRewriter.CanonicalURL?, _ text: String) -> String {
        // It may be any text, with a password anywhere.
        guard let canonical else { return isOn ? URLText.forErrors(text) : text }
        return "\(canonical.scheme)://\(canonical.authority)\(target(canonical.target))"
    }

    /// Returns whether ``url(_:_:)`` differs from a URL in canonical form.
    /// - Parameter text: The text of the URL, which may have user information and a fragment.
    package func mayChange(_ canonical: HTTPDNSRewriter.CanonicalURL, _ text: String?) -> Bool {
        if canonical.hasCredential || text?.utf8.contains(UInt8(ascii: "#")) == true { return true }
        let target = canonical.target
        return self.target(target) != target
    }

    /// Returns the URL of a server, absolute or relative, without user information, secrets and fragment. The spelling stays
    /// when there is no secret.
    package func url(ofServer text: String) -> String {
        let text = String(text.prefix { $0 != "#" })
        guard let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(text) else {
            return self.text(URLText.withoutUserInformation(text))
        }
        let redacted = url(canonical, text)
        return redacted == canonical.description ? URLText.withoutUserInformation(text) : redacted
    }

    /// Returns the path and the query of a URL.
    package func target(_ target: String) -> String {
        guard isOn, let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return path(target) }
        return path(String(target[..<mark])) + "?" + items(target[target.index(after: mark)...])
    }

    /// Returns a path. Its items are parameters, such as `;jsessionid=`, and segments, such as `/token=`.
    package func path(_ path: String) -> String { self.path(path, rules.paths) }

    /// Returns a URL of an error, of which `...@` stands for user information.
    func shown(_ url: String) -> String { path(url, rules.shown) }

    private func path(_ path: String, _ scan: SecretScan) -> String {
        guard isOn else { return path }
        let redacted = scan.redacted(path)
        guard redacted.utf8.contains(UInt8(ascii: "%")) else { return redacted }
        return redacted.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            segment.utf8.contains(UInt8(ascii: "%")) && rules.texts.hasSecret(String(segment))
                ? Self.mark : String(segment)
        }.joined(separator: "/")
    }

    /// Returns a query or a form.
    package func items(_ text: Substring) -> String {
        guard isOn else { return String(text) }
        return text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let sign = item.firstIndex(of: "=") else {
                return rules.texts.hasSecret(String(item)) ? Self.mark : String(item)
            }
            // A value may be a URL with secrets of its own, JSON, or a query in GraphQL.
            let value = item[item.index(after: sign)...]
            guard rules.urlNames.containsEncoded(item[..<sign].utf8) || rules.texts.hasSecret(String(value)) else {
                return String(item)
            }
            return "\(item[...sign])\(Self.mark)"
        }.joined(separator: "&")
    }

    // MARK: header fields and texts

    /// Returns the fields without secrets: the same table when they have none, which is the usual case.
    package func fields(_ fields: HTTPFields) -> HTTPFields {
        var result = fields
        var found: [String] = []
        let searched = rules.harmless.withLock { known in fields.indices.filter { !isKnown(fields[$0], known) } }
        for index in searched {
            let field = fields[index]
            guard mayChange(field) else { continue }
            let value = bytes(of: field)
            let isSame = field.withUnsafeBytesOfValue { $0.elementsEqual(value) }
            // The type replaces bytes that no value may have; a record with them could not be read again.
            if !isSame || !HTTPField.isValidValue(value) {
                result[index] = HTTPField(name: field.name, value: value)
            } else if mayBeKnown(field.name, field.value) {
                found.append(field.value)
            }
        }
        guard !found.isEmpty else { return result }
        rules.harmless.withLock { harmless in
            if harmless.count + found.count > Rules.maximumHarmless { harmless = [] }
            harmless.formUnion(found.prefix(Rules.maximumHarmless))
        }
        return result
    }

    /// Returns the fields without the values whose names are those of secrets: the same table when there are none.
    func withoutNamedSecrets(_ fields: HTTPFields) -> HTTPFields {
        guard isOn, fields.contains(where: isSecret) else { return fields }
        var fields = fields
        for index in fields.indices where isSecret(fields[index]) {
            fields[index] = HTTPField(name: fields[index].name, value: Self.mark)
        }
        return fields
    }

    /// Returns a response head without the values whose names are those of secrets.
    func withoutNamedSecrets(_ head: ResponseHead) -> ResponseHead {
        let names = head.hashOfNames
        // The responses of a service have few lists of names, and their fields are not made for this.
        guard isOn, names.map({ names in !rules.harmlessNames.withLock { $0.contains(names) } }) ?? true else {
            return head
        }
        let fields = head.headerFields
        guard fields.contains(where: isSecret) else {
            rules.harmlessNames.withLock { harmless in
                if harmless.count >= Rules.maximumHarmless { harmless = [] }
                names.map { _ = harmless.insert($0) }
            }
            return head
        }
        var head = head
        head.headerFields = withoutNamedSecrets(fields)
        return head
    }

    /// Returns whether the value of a field was searched before, and has no secret.
    private func isKnown(_ field: HTTPField, _ harmless: Set<String>) -> Bool {
        let value = field.value
        return mayBeKnown(field.name, value) && harmless.contains(value) && !isSecret(field)
    }

    /// Returns whether a value is short, and likely to come again. Bytes that are not ASCII may have the same text as others.
    private func mayBeKnown(_ name: HTTPField.Name, _ value: String) -> Bool {
        isOn && !Self.isURL(name) && value.utf8.count <= 100 && value.utf8.allSatisfy { $0 < 0x80 }
    }

    private func mayChange(_ field: HTTPField) -> Bool {
        isSecret(field) || rules.texts.mayChange(field.value) || Self.isURL(field.name)
            || !HTTPField.isValidValue(field.value)
    }

    /// A program marks a field that HTTP/2 must not keep in a table (RFC 7541 section 7.1.3) as a secret.
    private func isSecret(_ field: HTTPField) -> Bool {
        isSecret(field.name) || isOn && field.indexingStrategy == .disallow
    }

    /// Returns whether the values of a header field are secrets.
    package func isSecret(_ name: HTTPField.Name) -> Bool {
        isOn && (rules.knownNames[name.canonicalName] ?? rules.names.contains(name.rawName.utf8))
    }

    /// Returns the value of a header field as text.
    package func value(of field: HTTPField) -> String { String(decoding: bytes(of: field), as: UTF8.self) }

    /// Returns the value of a header field. Bytes outside secrets stay, whether or not they are UTF-8.
    package func bytes(of field: HTTPField) -> [UInt8] {
        if isSecret(field) { return Array(Self.mark.utf8) }
        let value = field.withUnsafeBytesOfValue { Array($0) }
        guard isOn else { return value }
        // The URL of a record has no fragment.
        return rules.texts.redacted(Self.isURL(field.name) ? Array(value.prefix { $0 != UInt8(ascii: "#") }) : value)
    }

    private static func isURL(_ name: HTTPField.Name) -> Bool {
        name == .location || name == .contentLocation || name == .referer
    }

    /// Returns a message or another text of a line.
    package func text(_ text: String) -> String { isOn ? rules.messages.redacted(text) : text }

    // MARK: bodies

    /// Returns a body.
    /// - Parameter mediaType: The media type in lower case, without parameters.
    /// - Returns: Nil for a body that must not be stored.
    package func body(_ text: String, mediaType: String) -> String? {
        guard isOn else { return text }
        let bytes = Array(text.utf8)
        if mediaType.hasPrefix("multipart/"), let form = MultipartText(bytes) {
            return multipart(form, isTruncated: true, depth: 0).map { String(decoding: $0, as: UTF8.self) }
        }
        if mediaType == "application/x-www-form-urlencoded" { return items(text[...]) }
        let redacted = self.text(bytes)
        return redacted == bytes ? text : String(decoding: redacted, as: UTF8.self)
    }

    /// Returns a text, JSON or with JSON in it.
    private func text(_ bytes: [UInt8]) -> [UInt8] {
        rules.texts.redacted(
            JSONSecretScan(bytes, names: rules.members, texts: rules.texts, keepsTypes: rules.keepsTypes).redacted()
        )
    }

    /// Returns a multipart body, part by part. Binary parts stay as they are.
    /// - Parameter isTruncated: Whether its end may be missing.
    /// - Returns: Nil for a body that must not be stored: a part has the name of a secret, or cannot be read.
    package func multipart(_ bytes: [UInt8], isTruncated: Bool) -> [UInt8]? {
        guard isOn else { return bytes }
        return MultipartText(bytes).flatMap { multipart($0, isTruncated: isTruncated, depth: 0) }
    }

    /// The most multipart bodies in multipart bodies that are read.
    private static let maximumDepth = 3

    private func multipart(_ form: MultipartText, isTruncated: Bool, depth: Int) -> [UInt8]? {
        var result = rules.texts.redacted(Array(form.preamble))
        for (number, part) in form.parts.enumerated() {
            let isCut = isTruncated && number == form.parts.count - 1
            guard let content = content(of: part, isCut: isCut, depth: depth) else { return nil }
            result += part.delimiter
            result += rules.texts.redacted(Array(part.head))
            result += content
        }
        return result
    }

    /// - Parameter isCut: Whether its end may be missing.
    private func content(of part: MultipartText.Part, isCut: Bool, depth: Int) -> [UInt8]? {
        if let name = part.name, isSecret(part: name) { return nil }
        guard !part.isCoded else { return nil }
        let bytes = Array(part.content)
        let type = part.mediaType
        if type.hasPrefix("multipart/") {
            guard depth < Self.maximumDepth, let form = MultipartText(bytes) else { return nil }
            return multipart(form, isTruncated: isCut, depth: depth + 1)
        }
        let characters = isCut ? UTF8Text.wholeCharacters(bytes) : bytes[...]
        if let text = UTF8Text.plain(characters) {
            return body(text, mediaType: type).map { Array($0.utf8) + bytes[characters.endIndex...] }
        }
        return part.isText ? nil : bytes
    }

    /// Returns whether the value of a part of a form is a secret.
    package func isSecret(part name: String) -> Bool { isOn && rules.urlNames.contains(name.utf8) }
}

/// Bytes as text in UTF-8.
package enum UTF8Text {
    /// Returns whether a text has no control characters that no text has.
    package static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d }
    }

    /// Returns whether a media type, in lower case and without parameters, is that of a text.
    package static func isDeclared(by type: String) -> Bool {
        type == "application/x-www-form-urlencoded" || type.hasPrefix("text/") || type.contains("json")
            || type.contains("xml")
    }

    /// Returns the text of bytes; nil for bytes that are none.
    package static func plain(_ bytes: ArraySlice<UInt8>) -> String? {
        String(validating: bytes, as: UTF8.self).flatMap { isPlain($0) ? $0 : nil }
    }

    /// Returns the bytes without the start of a character whose other bytes are missing.
    package static func wholeCharacters(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        // A character has four bytes at most.
        guard let lead = bytes.indices.suffix(4).last(where: { bytes[$0] & 0xc0 != 0x80 }) else { return bytes[...] }
        let length =
            switch bytes[lead] {
            case 0xc2...0xdf: 2
            case 0xe0...0xef: 3
            case 0xf0...0xf4: 4
            default: 1
            }
        return lead + length > bytes.count ? bytes[..<lead] : bytes[...]
    }
}
