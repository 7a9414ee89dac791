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
        public static let commonSecrets: Set<String> =
            SecretNames.common.union(SecretNames.commonInURLs).union(["cookie2"])

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

    private let names: SecretNames
    let isOn: Bool

    init(_ redaction: HTTPDNSClient.Request.Redaction) {
        names = SecretNames(redaction.names)
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
            return names.containsEncoded(item[..<sign].utf8) ? "\(item[...sign])\(Self.mark)" : String(item)
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
}
