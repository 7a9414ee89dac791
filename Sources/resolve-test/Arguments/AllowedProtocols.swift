// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The schemes that `--proto` allows for every URL of a call, and `--proto-redir` for the targets of redirects.
struct AllowedProtocols: Sendable {
    /// An option and the schemes of this client that it allows.
    private struct Rule: Sendable {
        var option: String
        var schemes: Set<String>
    }

    private let everywhere: Rule?
    private let onRedirects: Rule?

    init(_ options: CurlConnectionOptions) throws(CommandFailure) {
        everywhere = try options.protocols.map { text throws(CommandFailure) in try Self.rule("--proto", text) }
        onRedirects = try options.redirectProtocols.map { text throws(CommandFailure) in
            try Self.rule("--proto-redir", text)
        }
    }

    /// Whether an option limits the targets of redirects.
    var limitsRedirects: Bool { everywhere != nil || onRedirects != nil }

    /// Returns the message for a URL whose scheme is not allowed; nil for an allowed one.
    func refusal(of url: String, isRedirect: Bool) -> String? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        let rules = [everywhere, isRedirect ? onRedirects : nil].compactMap(\.self)
        guard let rule = rules.first(where: { !$0.schemes.contains(scheme) }) else { return nil }
        return isRedirect
            ? "\(rule.option) does not allow the redirect to \(scheme)"
            : "\(rule.option) does not allow the scheme of the URL, \(scheme)"
    }

    /// Returns the schemes of curl's form: names with commas, after `+` (the default), `-` or `=`, from left to right.
    private static func rule(_ option: String, _ text: String) throws(CommandFailure) -> Rule {
        // All protocols are allowed by default, and redirects may lead to http and https: the same for this client.
        var schemes = supported
        for part in text.split(separator: ",") {
            let sign = part.first.flatMap { "+-=".contains($0) ? $0 : nil }
            let name = String(sign == nil ? part : part.dropFirst()).lowercased()
            guard name == "all" || supported.contains(name) || others.contains(name) else {
                throw .usage(
                    "\(option) \(text) has an unknown protocol",
                    hint: "write \(option) =https or \(option) =http,https"
                )
            }
            let named = name == "all" ? supported : supported.intersection([name])
            switch sign {
            case "=": schemes = named
            case "-": schemes.subtract(named)
            default: schemes.formUnion(named)
            }
        }
        guard !text.split(separator: ",").isEmpty else {
            throw .usage("\(option) has no protocol", hint: "write \(option) =https or \(option) =http,https")
        }
        return Rule(option: "\(option) \(text)", schemes: schemes)
    }

    private static let supported: Set<String> = ["http", "https"]
    /// The protocols of curl that this client has not.
    private static let others: Set<String> = [
        "dict", "file", "ftp", "ftps", "gopher", "gophers", "imap", "imaps", "ldap", "ldaps", "mqtt", "pop3", "pop3s",
        "rtmp", "rtmpe", "rtmps", "rtmpt", "rtmpte", "rtmpts", "rtsp", "scp", "sftp", "smb", "smbs", "smtp", "smtps",
        "telnet", "tftp", "ws", "wss",
    ]
}
