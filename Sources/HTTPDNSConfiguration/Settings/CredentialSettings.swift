// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// An entry of `client.credentials`. Errors repeat origins and keys, never a secret.
private struct CredentialSettings {
    private enum Scheme: String, CaseIterable {
        case basic, digest, bearer

        /// The keys besides `origin` and `scheme`; all but `preemptive` are required.
        var keys: [String] {
            switch self {
            case .basic: ["user", "password", "preemptive"]
            case .digest: ["user", "password"]
            case .bearer: ["token"]
            }
        }
    }

    private var origin: HTTPDNSClient.Origin?
    private var scheme: Scheme?
    private var user: String?
    private var password: HTTPDNSSecret?
    private var preemptive = false
    private var token: HTTPDNSSecret?

    fileprivate static let name = "an entry of client.credentials"
    fileprivate static let settings: [Setting<Self>] = [
        .init("origin", \.origin, originForm).means("The only origin that gets the credential.")
            .required(originText, end: .missingOrWrong),
        .init("scheme", \.scheme, .cases()).means(
            "The scheme of HTTP authentication; `digest` needs the package trait `Digest`."
        )
        .required("one of basic, digest, bearer", end: .missingOrWrong),
        .init("user", \.user, .text("the user's name")).means("The user name, required for `basic` and `digest`."),
        .init("password", \.password, .secret).means("The place of the password, required for `basic` and `digest`."),
        .init("preemptive", \.preemptive, .truth)
            .means("Whether the first request already has the credential, for `basic`."),
        .init("token", \.token, .secret).means(
            "The place of the token, required for `bearer`. It is read for each request."
        ),
    ]

    private static let originText = "scheme, host and port such as https://api.example or http://10.0.0.8:8080"
    private static let originForm = SettingForm<HTTPDNSClient.Origin>(
        originText,
        values: "scheme, host and port such as `https://api.example`"
    ) { (text, _) throws(ValueMistake) in
        // Text before an at-sign may be a password.
        guard !text.utf8.contains(UInt8(ascii: "@")) else {
            throw ValueMistake("an origin has no user information", hint: "give user, and password: { file: PATH }")
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let hasPath = parts.count > 4 || parts.count == 4 && !parts[3].isEmpty
        guard !hasPath, !text.contains("?"), !text.contains("#"), let origin = HTTPDNSClient.Origin(text) else {
            throw ValueMistake("found \(quoted(text)); allowed: \(originText), without a path")
        }
        return origin
    }

    /// Reads an entry, and returns the credential of its origin.
    fileprivate static func read(_ reader: inout SettingsReader, _ node: ConfigurationNode, path: String)
        -> (HTTPDNSClient.Origin, HTTPDNSClient.Credential)?
    {
        var entry = CredentialSettings()
        guard var fields = reader.fields(of: node, KeyTable(name, settings), path: path),
            reader.read(settings[..<2], &fields, path: path, into: &entry),
            let origin = entry.origin, let scheme = entry.scheme
        else { return nil }
        let before = reader.mistakes.count
        for key in settings[2...].map(\.key) {
            if let unwanted = fields[key], !scheme.keys.contains(key) {
                reader.mistakes.add(
                    "\(path).\(key): the scheme \(scheme) has no such key",
                    at: unwanted.position
                )
            }
            if fields[key] == nil, scheme.keys.contains(key), key != "preemptive" {
                reader.mistakes.add("\(path): the scheme \(scheme) needs the key \"\(key)\"", at: node.position)
            }
        }
        guard reader.mistakes.count == before else { return nil }
        reader.read(settings[2...], &fields, path: path, into: &entry)
        let credential: HTTPDNSClient.Credential
        switch (scheme, entry.user, entry.password, entry.token) {
        case (.basic, let user?, let password?, _):
            credential = .basic(user: user, password: password, preemptive: entry.preemptive)
        case (.digest, let user?, let password?, _): credential = .digest(user: user, password: password)
        case (.bearer, _, _, let token?): credential = .bearer(token)
        default: return nil
        }
        if let fault = credential.fault {
            reader.mistakes.add("\(path): \(fault.message)", at: fields["scheme"]?.position, hint: fault.hint)
            return nil
        }
        return (origin, credential)
    }
}

extension SettingForm<[HTTPDNSClient.Origin: HTTPDNSClient.Credential]> {
    static let credentials = SettingForm(
        entries: [.mapping(CredentialSettings.name, CredentialSettings.settings, of: .init())]
    ) { reader, node, path, _ in
        if node.isEmpty { return nil }
        let form = "a list of mappings with \(KeyTable(CredentialSettings.name, CredentialSettings.settings).allowed)"
        var credentials: Value = [:]
        for (index, node) in (reader.elements(of: node, path: path, form) ?? []).enumerated() {
            let path = "\(path)[\(index)]"
            guard node.isMapping else {
                // The text may be a secret: it is not repeated.
                reader.mistakes.add("\(path): found a value; allowed: a mapping", at: node.position, hint: form)
                continue
            }
            guard let (origin, credential) = CredentialSettings.read(&reader, node, path: path) else { continue }
            if credentials.updateValue(credential, forKey: origin) != nil {
                reader.mistakes.add("\(path): \(origin) is listed twice", at: node.position, hint: "keep one of them")
            }
        }
        return credentials
    }
}
