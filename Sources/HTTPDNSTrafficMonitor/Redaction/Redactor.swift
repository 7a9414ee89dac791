// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPTypes

/// The replacement of secrets in URLs, header fields and bodies.
struct Redactor: Sendable {
    /// The text in the place of a secret. A URL may contain it.
    static let mark = "(redacted)"

    private let headerFields: SecretNames
    /// Whether the names of usual fields are those of secrets: matching them costs more than finding them here.
    private let knownNames: [String: Bool]
    private let queryItems: SecretNames
    private let formFields: SecretNames
    private let jsonFields: SecretNames
    /// The scan of header values and free texts.
    private let texts: SecretScan

    init(_ redaction: HTTPDNSClient.TrafficMonitor.Redaction) {
        headerFields = SecretNames(redaction.headerFields)
        knownNames = Dictionary(
            uniqueKeysWithValues: Self.usualNames.map { [headerFields] name in
                (name.canonicalName, headerFields.contains(name.rawName.utf8))
            }
        )
        queryItems = SecretNames(redaction.queryItems)
        formFields = SecretNames(redaction.formFields)
        jsonFields = SecretNames(redaction.jsonFields)
        texts = SecretScan(names: queryItems, members: jsonFields)
    }

    private static let usualNames: [HTTPField.Name] = [
        .accept, .acceptEncoding, .acceptLanguage, .acceptRanges, .age, .authorization, .cacheControl, .connection,
        .contentEncoding, .contentLength, .contentType, .cookie, .date, .eTag, .expires, .lastModified, .location,
        .server,
        .setCookie, .strictTransportSecurity, .transferEncoding, .userAgent, .vary,
    ]

    /// Returns the text of a URL.
    /// - Parameters:
    ///   - canonical: The URL in canonical form; nil for a text that is no http or https URL.
    ///   - text: The text of the URL.
    func url(_ canonical: HTTPDNSRewriter.CanonicalURL?, _ text: String) -> String {
        // It may be any text, with a password anywhere.
        guard let canonical else { return URLText.forErrors(text) }
        let target = canonical.target
        guard
            target.utf8.contains(where: {
                $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "@")
            })
        else {
            return canonical.description
        }
        let path = target.prefix { $0 != "?" }
        let query = target.dropFirst(path.count)
        var result = "\(canonical.scheme)://\(canonical.authority)"
        // Path parameters, such as ";jsessionid=".
        result += SecretScan(names: queryItems, members: jsonFields, ends: SecretScan.pathEnds).redacted(String(path))
        if !query.isEmpty { result += "?" + items(query.dropFirst(), queryItems) }
        return result
    }

    /// Returns a query or a form.
    private func items(_ text: Substring, _ names: SecretNames) -> String {
        let scan = SecretScan(names: queryItems, members: jsonFields)
        return text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let sign = item.firstIndex(of: "=") else {
                return scan.hasSecret(String(item)) ? Self.mark : String(item)
            }
            // A value may be a URL with secrets of its own, or JSON.
            guard names.containsEncoded(item[..<sign].utf8) || scan.hasSecret(String(item[item.index(after: sign)...]))
            else { return String(item) }
            return "\(item[...sign])\(Self.mark)"
        }.joined(separator: "&")
    }

    /// Returns the fields without secrets: the same table when they have none, which is the usual case.
    func fields(_ fields: HTTPFields) -> HTTPFields {
        var result = fields
        for (index, field) in fields.enumerated() {
            guard mayChange(field) else { continue }
            let value = value(of: field)
            // The type replaces bytes that no value may have; a record with them could not be read again.
            if value != field.value || !HTTPField.isValidValue(value) {
                result[index] = HTTPField(name: field.name, value: value)
            }
        }
        return result
    }

    private func mayChange(_ field: HTTPField) -> Bool {
        isSecret(field.name) || texts.mayChange(field.value) || Self.isURL(field.name)
            || !HTTPField.isValidValue(field.value)
    }

    private func isSecret(_ name: HTTPField.Name) -> Bool {
        knownNames[name.canonicalName] ?? headerFields.contains(name.rawName.utf8)
    }

    private func value(of field: HTTPField) -> String {
        if isSecret(field.name) { return Self.mark }
        // A URL of a record has no fragment.
        return text(Self.isURL(field.name) ? String(field.value.prefix { $0 != "#" }) : field.value)
    }

    private static func isURL(_ name: HTTPField.Name) -> Bool {
        name == .location || name == .contentLocation || name == .referer
    }

    /// Returns a text without user information in URLs, and without the values of secret query items and of JSON members.
    func text(_ text: String) -> String { texts.redacted(text) }

    /// Returns a body.
    /// - Returns: Nil for a body that must not be stored.
    func body(_ text: String, mediaType: String) -> String? {
        if mediaType == "application/x-www-form-urlencoded" { return items(text[...], formFields) }
        let bytes = Array(text.utf8)
        if hasSecretPart(bytes, mediaType: mediaType) { return nil }
        let texts = SecretScan(names: queryItems, members: jsonFields, lines: headerFields)
        let redacted = texts.redacted(JSONSecretScan(bytes, names: jsonFields, texts: texts).redacted())
        return redacted == bytes ? text : String(decoding: redacted, as: UTF8.self)
    }

    /// Returns whether a multipart form has a part with the name of a secret.
    func hasSecretPart(_ bytes: [UInt8], mediaType: String) -> Bool {
        guard mediaType.hasPrefix("multipart/") else { return false }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            guard text.lowercased().hasPrefix("content-disposition:") else { continue }
            for parameter in text.split(separator: ";").dropFirst() {
                let pair = parameter.split(separator: "=", maxSplits: 1)
                let isName = pair.count == 2 && pair[0].lowercased().filter { $0 != " " } == "name"
                if isName, formFields.contains(Array(pair[1].utf8)) { return true }
            }
        }
        return false
    }
}
