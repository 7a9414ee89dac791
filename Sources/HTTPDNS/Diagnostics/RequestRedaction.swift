// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

extension HTTPDNSClient.Request {
    /// The secrets of a request that are replaced by `(redacted)` in a command line, see ``curlCommand(redacting:)``.
    public struct Redaction: Hashable, Sendable {
        /// The names of header fields, query items, form fields and JSON members, at any depth, whose values are replaced.
        ///
        /// Names have any case; `-` and `_` do not count. A star in front stands for any start, and one at the end for any
        /// end. A name in brackets or behind a dot counts by itself: `user[password]` is a password.
        public var names: Set<String>
        /// Whether anything is replaced.
        public var isOn = true

        /// The names of common secrets.
        public static let commonSecrets: Set<String> = [
            "*accesskey", "*accesskeyid", "*apikey", "*appkey", "*assertion", "*authkey", "*authorization",
            "*credential", "*credentials", "*functionskey", "*passcode", "*passphrase", "*passwd*", "*password*",
            "*privatekey", "*pwd", "*secret*", "*sessid", "*sessionid", "*signature", "*subscriptionkey", "*token*",
            "auth", "bearer", "code", "codeverifier", "cookie", "cookie2", "csrf", "cvc", "cvv", "jwt", "key", "otp",
            "pass",
            "pin", "samlrequest", "samlresponse", "session", "sid", "sig", "sign", "ticket", "xauth", "xsrf",
        ]

        /// Creates a redaction of the given names.
        public init(names: Set<String> = commonSecrets) { self.names = names }

        /// The default: the values of ``commonSecrets``, of fields that a redirect to another origin drops, and user
        /// information. Bodies that are neither a form nor JSON nor a file are replaced as a whole.
        public static let standard = HTTPDNSClient.Request.Redaction()
        /// Nothing is replaced. The text has every secret of the request.
        public static let off: HTTPDNSClient.Request.Redaction = {
            var redaction = HTTPDNSClient.Request.Redaction()
            redaction.isOn = false
            return redaction
        }()
    }
}

/// The replacement of secrets in the parts of a request.
struct RequestRedactor {
    /// The text in the place of a secret. It has no character with a meaning in URLs.
    static let mark = "(redacted)"

    private let names: SecretNamePatterns
    let isOn: Bool

    init(_ redaction: HTTPDNSClient.Request.Redaction) {
        names = SecretNamePatterns(redaction.names)
        isOn = redaction.isOn
    }

    func value(of field: HTTPField) -> String {
        guard isOn else { return field.value }
        if names.contains(field.name.rawName.utf8) || HTTPDNSClient.RedirectPolicy().withholds(field) {
            guard field.name == .referer else { return Self.mark }
            return String(field.value.prefix { $0 != "?" && $0 != "#" })
        }
        return field.value
    }

    /// Returns a query or a form.
    func items(_ text: Substring) -> String {
        guard isOn else { return String(text) }
        return text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let sign = item.firstIndex(of: "=") else { return String(item) }
            return isSecret(item[..<sign]) ? "\(item[...sign])\(Self.mark)" : String(item)
        }.joined(separator: "&")
    }

    /// Returns the path and the query of a URL. Parameters of the path, such as `;jsessionid=`, count as items.
    func target(_ target: String) -> String {
        guard isOn else { return target }
        let path = target.prefix { $0 != "?" }
        let parameters = path.split(separator: ";", omittingEmptySubsequences: false).map { items($0) }
        let query = target.dropFirst(path.count)
        return parameters.joined(separator: ";") + (query.isEmpty ? "" : "?" + items(query.dropFirst()))
    }

    /// Returns a body in memory.
    func body(_ bytes: [UInt8], mediaType: String?) -> [UInt8] {
        guard isOn, !bytes.isEmpty else { return bytes }
        let type = mediaType.map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " } }
        if type == "application/x-www-form-urlencoded" {
            return Array(items(String(decoding: bytes, as: UTF8.self)[...]).utf8)
        }
        if type == nil || type == "application/json" || type?.hasSuffix("+json") == true, let json = CodableJSON(bytes)
        {
            let masked = masked(json)
            // Numbers and spaces stay as they are when nothing is replaced.
            if masked == json { return bytes }
            if let text = try? masked.encoded() { return text }
        }
        return Array(Self.mark.utf8)
    }

    /// Whether a name of a multipart form is that of a secret.
    func isSecret(part name: String) -> Bool { isOn && names.contains(name.utf8) }

    private func masked(_ json: CodableJSON) -> CodableJSON {
        switch json {
        case .object(let members):
            var result: [String: CodableJSON] = [:]
            for (name, value) in members {
                result[name] = names.contains(name.utf8) && value != .null ? .text(Self.mark) : masked(value)
            }
            return .object(result)
        case .list(let values): return .list(values.map(masked))
        case .null, .bool, .integer, .number, .text: return json
        }
    }

    /// Whether a name is that of a secret behind any layer of percent-encoding.
    private func isSecret(_ name: Substring) -> Bool {
        var text = String(name)
        for _ in 0..<4 {
            if names.contains(text.utf8) { return true }
            let decoded = FormItems.decoded(text[...])
            if decoded == text { return false }
            text = decoded
        }
        return true
    }
}

/// A set of names of secrets with stars, see ``HTTPDNSClient/Request/Redaction/names``.
struct SecretNamePatterns: Sendable {
    private let names: Set<[UInt8]>
    private let suffixes: [[UInt8]]
    private let prefixes: [[UInt8]]
    private let infixes: [[UInt8]]

    init(_ texts: Set<String>) {
        func patterns(_ start: Bool, _ end: Bool) -> [[UInt8]] {
            texts.filter { $0.hasPrefix("*") == start && $0.hasSuffix("*") == end }
                .map { Self.normalized($0.utf8) }.filter { !$0.isEmpty }
        }
        names = Set(patterns(false, false))
        suffixes = patterns(true, false)
        prefixes = patterns(false, true)
        infixes = patterns(true, true)
    }

    /// Returns whether a name, or a part of it between brackets and dots, is that of a secret.
    func contains(_ name: some Collection<UInt8>) -> Bool {
        if containsWhole(name) { return true }
        let parts = name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: ".") }
        return parts.count > 1 && parts.contains { containsWhole($0) }
    }

    private func containsWhole(_ name: some Collection<UInt8>) -> Bool {
        let name = Self.normalized(name)
        guard !name.isEmpty else { return false }
        return names.contains(name)
            || suffixes.contains { name.suffix($0.count).elementsEqual($0) }
            || prefixes.contains { name.starts(with: $0) }
            || infixes.contains { infix in
                infix.count <= name.count
                    && (0...(name.count - infix.count)).contains { name[$0...].starts(with: infix) }
            }
    }

    /// Returns the letters and digits of a name, in lower case.
    private static func normalized(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
            default: nil
            }
        }
    }
}
