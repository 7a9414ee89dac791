// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

extension KeyTable {
    package static let credential = KeyTable(
        name: "an entry of client.credentials",
        keys: ["origin", "scheme", "user", "password", "preemptive", "token"]
    )
}

extension WordTable {
    package static let credentialSchemes = WordTable(words: ["basic", "digest", "bearer"])
    package static let proxySchemes = WordTable(
        words: [HTTPDNSClient.Proxy.Credential.Scheme.basic, .digest].map(\.description)
    )
}

/// The credentials for origins. Errors repeat origins and keys, never a secret.
extension SettingsReader {
    /// The keys of each scheme besides `origin` and `scheme`; all but `preemptive` are required.
    private static let keysOfSchemes = [
        "basic": ["user", "password", "preemptive"], "digest": ["user", "password"], "bearer": ["token"],
    ]

    mutating func readCredentials(_ node: ConfigurationNode) -> [HTTPDNSClient.Origin: HTTPDNSClient.Credential] {
        var credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential] = [:]
        let path = "client.credentials"
        guard !node.isEmpty else { return credentials }
        let form = "a list of mappings with the keys \(KeyTable.credential.keys.joined(separator: ", "))"
        for (index, node) in (elements(of: node, path: path, form) ?? []).enumerated() {
            let path = "\(path)[\(index)]"
            guard case .mapping = node.content else {
                // The text may be a secret: it is not repeated.
                mistakes.add("\(path): found a value; allowed: a mapping", at: node.position, hint: "\(form)")
                continue
            }
            guard let fields = fields(of: node, .credential, path: path) else { continue }
            guard let origin = readOrigin(fields["origin"], node, path: path),
                let credential = readCredential(fields, node, path: path)
            else { continue }
            if credentials.updateValue(credential, forKey: origin) != nil {
                mistakes.add("\(path): \(origin) is listed twice", at: node.position, hint: "keep one of them")
            }
        }
        return credentials
    }

    private mutating func readOrigin(_ origin: ConfigurationNode?, _ node: ConfigurationNode, path: String)
        -> HTTPDNSClient.Origin?
    {
        let form = "scheme, host and port such as https://api.example or http://10.0.0.8:8080"
        guard let origin else {
            mistakes.add("\(path): the key \"origin\" is missing", at: node.position, hint: form)
            return nil
        }
        return value(of: origin, path: "\(path).origin", form) { text throws(ValueMistake) in
            // Text before an at-sign may be a password.
            guard !text.utf8.contains(UInt8(ascii: "@")) else {
                throw ValueMistake("an origin has no user information", hint: "give user, and password: { file: PATH }")
            }
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            let hasPath = parts.count > 4 || parts.count == 4 && !parts[3].isEmpty
            guard !hasPath, !text.contains("?"), !text.contains("#"), let origin = HTTPDNSClient.Origin(text) else {
                throw ValueMistake("found \(quoted(text)); allowed: \(form), without a path")
            }
            return origin
        }
    }

    private mutating func readCredential(_ fields: Fields, _ node: ConfigurationNode, path: String)
        -> HTTPDNSClient.Credential?
    {
        guard let schemeNode = fields["scheme"] else {
            mistakes.add(
                "\(path): the key \"scheme\" is missing",
                at: node.position,
                hint: "one of \(WordTable.credentialSchemes.words.joined(separator: ", "))"
            )
            return nil
        }
        guard let scheme = word(of: schemeNode, .credentialSchemes, path: "\(path).scheme"),
            let keys = Self.keysOfSchemes[scheme]
        else { return nil }
        var isComplete = true
        for key in ["user", "password", "preemptive", "token"] {
            if let unwanted = fields[key], !keys.contains(key) {
                mistakes.add("\(path).\(key): the scheme \(scheme) has no such key", at: unwanted.position)
                isComplete = false
            }
            if fields[key] == nil, keys.contains(key), key != "preemptive" {
                mistakes.add("\(path): the scheme \(scheme) needs the key \"\(key)\"", at: node.position)
                isComplete = false
            }
        }
        guard isComplete else { return nil }
        let user = fields["user"].flatMap { node in
            value(of: node, path: "\(path).user", "the user's name") { text throws(ValueMistake) in text }
        }
        let password = fields["password"].flatMap { readSecret($0, path: "\(path).password") }
        let token = fields["token"].flatMap { readSecret($0, path: "\(path).token") }
        let preemptive = fields["preemptive"].flatMap { truth(of: $0, path: "\(path).preemptive") } ?? false
        let credential: HTTPDNSClient.Credential
        switch (scheme, user, password, token) {
        case ("basic", let user?, let password?, _):
            credential = .basic(user: user, password: password.live, preemptive: preemptive)
        case ("digest", let user?, let password?, _): credential = .digest(user: user, password: password.live)
        case ("bearer", _, _, let token?): credential = .bearer(token.live)
        default: return nil
        }
        if let fault = credential.fault {
            mistakes.add("\(path): \(fault.message)", at: schemeNode.position, hint: fault.hint)
            return nil
        }
        return credential
    }
}
