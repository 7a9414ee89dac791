// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPTypes

/// The replacement of secrets in URLs, header fields and bodies.
struct Redactor: Sendable {
    /// The text in the place of a secret. A URL may contain it.
    static let mark = "(redacted)"

    private let headerFields: SecretNames
    private let queryItems: SecretNames
    private let formFields: SecretNames
    private let jsonFields: SecretNames

    init(_ redaction: HTTPDNSClient.TrafficMonitor.Redaction) {
        headerFields = SecretNames(redaction.headerFields)
        queryItems = SecretNames(redaction.queryItems)
        formFields = SecretNames(redaction.formFields)
        jsonFields = SecretNames(redaction.jsonFields)
    }

    /// - Parameters:
    ///   - canonical: The URL in canonical form; nil for a text that is no http or https URL.
    ///   - text: The text of the URL.
    func url(_ canonical: HTTPDNSRewriter.CanonicalURL?, _ text: String) -> String {
        // It may be any text, with a password anywhere.
        guard let canonical else { return URLText.forErrors(text) }
        let target = canonical.target
        guard target.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") }) else {
            return canonical.description
        }
        let path = target.prefix { $0 != "?" }
        let query = target.dropFirst(path.count)
        var result = "\(canonical.scheme)://\(canonical.authority)"
        // Path parameters, such as ";jsessionid=".
        result += SecretScan(names: queryItems, ends: SecretScan.pathEnds).redacted(String(path))
        if !query.isEmpty { result += "?" + items(query.dropFirst(), queryItems) }
        return result
    }

    /// Returns a query or a form.
    private func items(_ text: Substring, _ names: SecretNames) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let sign = item.firstIndex(of: "=") else { return String(item) }
            let isSecret = names.contains(Array(FormItems.decoded(item[..<sign]).utf8))
            // A value may be a URL with secrets of its own, or JSON.
            guard isSecret || hasSecret(FormItems.decoded(item[item.index(after: sign)...])) else {
                return String(item)
            }
            return "\(item[...sign])\(Self.mark)"
        }.joined(separator: "&")
    }

    private func hasSecret(_ value: String) -> Bool {
        guard value.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }) else { return false }
        if text(value) != value { return true }
        let bytes = Array(value.utf8)
        return bytes.first == UInt8(ascii: "{") && json(bytes) != bytes
    }

    func fields(_ fields: HTTPFields) -> HTTPFields {
        var result = HTTPFields()
        for field in fields {
            let isSecret = headerFields.contains(field.name.rawName.utf8)
            result.append(HTTPField(name: field.name, value: isSecret ? Self.mark : text(field.value)))
        }
        return result
    }

    /// Returns a text without user information in URLs, and without the values of secret query items.
    func text(_ text: String) -> String {
        SecretScan(names: queryItems, ends: SecretScan.textEnds).redacted(text)
    }

    /// Returns a body.
    /// - Returns: Nil for a body that must not be stored.
    func body(_ text: String, mediaType: String) -> String? {
        let first = text.utf8.first { $0 > 0x20 }
        if mediaType == "application/x-www-form-urlencoded" { return items(text[...], formFields) }
        if mediaType.contains("json") || first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            return String(decoding: json(Array(text.utf8)), as: UTF8.self)
        }
        if hasSecretPart(Array(text.utf8), mediaType: mediaType) { return nil }
        return self.text(text)
    }

    private func json(_ bytes: [UInt8]) -> [UInt8] {
        JSONSecretScan(bytes, names: jsonFields, texts: SecretScan(names: queryItems, ends: SecretScan.textEnds))
            .redacted()
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
