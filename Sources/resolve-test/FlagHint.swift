// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// The hints of the program. Those of the library name its Swift settings; this program has flags and a file for them.
enum FlagHint {
    static func hint(for error: HTTPDNSClientError) -> String? {
        if error.hint == HTTPDNSClientError.missingAuthorityHint {
            return "if the server is the right one, --cacert FILE names its authority"
        }
        if error.code == .policyRefused, error.description.contains("policy.allow") {
            return [withoutSettings(error.hint), option(against: error)].compactMap { $0 }.joined(separator: "; ")
        }
        if error.code == .policyRefused, let own = error.hint, own.contains("reachable_networks") {
            return own.contains("enforces_reachable_networks")
                ? "resolve: local in client.proxy of the file makes the client look it up"
                : "to allow it, set client.reachable_networks of the file to any"
        }
        switch error.code {
        case .timedOut: return timeHint(error)
        case .tooManyRedirects:
            return "without -L each response is shown; --max-redirs NUMBER sets how many are followed"
        case .redirectRefused, .redirectLoop: return "without -L the redirect is the response"
        case .responseTooLarge:
            return "--max-filesize BYTES sets the limit, else client.maximum_response_body of the file"
        case .decodingFailed where error.hint != nil: return "without --compressed the body arrives as it is sent"
        case .proxyUnreachable: return "check -x, or client.proxy of the file, and the port of the proxy"
        case .proxyLoginRefused: return "-U USER:PASSWORD, or client.proxy of the file, has the login of the proxy"
        default: return withoutSettings(error.hint)
        }
    }

    /// Returns the option that permits a refused address. That of the scope holds for the providers of options alone.
    private static func option(against error: HTTPDNSClientError) -> String {
        let isOfOption = error.message.contains(/provider "(doh(-[0-9]+)?|cloudflare|google)" may answer/)
        let scope = error.hint?.firstMatch(of: /answer_scope: ([a-z]+)/)
        guard isOfOption, let scope else { return "--allow ADDRESS for one run" }
        return "--answer-scope \(scope.output.1) for one run"
    }

    /// Returns the message of an error with options in place of the Swift settings that it names.
    static func message(_ text: String) -> String {
        options.reduce(text) { $0.replacing($1.setting, with: $1.option) }
    }

    private static let options: [(setting: String, option: String)] = [
        ("options.addresses", "--connect-to"), ("unixSocket", "--unix-socket"),
        ("hostHeader", "-H 'Host: ...':"), ("localSource:", "--interface:"), ("localSource", "--interface"),
        ("the settings' trustRoots", "--cacert"), ("trustRoots", "--cacert"),
    ]

    private static func timeHint(_ error: HTTPDNSClientError) -> String? {
        if error.isCallDeadline || error.phase == .total { return "--max-time SECONDS sets the limit" }
        guard let key = timeKeys[error.phase] else { return nil }
        let isConnecting = error.phase == .connect || error.phase == .tls
        return "\(key) in the configuration file sets this limit; --config FILE"
            + (isConnecting ? ", or --connect-timeout of fetch" : "")
    }

    /// The keys of the configuration file for the limits of phases.
    private static let timeKeys: [HTTPDNSClientError.Phase: String] = [
        .resolve: "resolver.time_limit", .queue: "client.connections.queue_wait", .connect: "client.timeouts.connect",
        .tls: "client.timeouts.tls", .send: "client.timeouts.idle", .firstByte: "client.timeouts.first_byte",
        .body: "client.timeouts.idle",
    ]

    /// Returns the parts of a hint that name no Swift setting; nil when there is none. The name of a setting in code that follows
    /// that in the file, in parentheses, is left out.
    static func withoutSettings(_ hint: String?) -> String? {
        let hint = (hint ?? "").replacing(/\ \(\w+ in code\)/, with: "")
        let parts = hint.split(separator: "; ").filter { !namesSetting($0) }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// Returns whether a text has the name of a declaration: `trustRoots`, `timeouts.total`, `.off`, `reload(_:)`, `Proxy.Rules`.
    static func namesSetting(_ text: some StringProtocol) -> Bool {
        let word = /\b[a-z][a-z0-9]*[A-Z]\w*|\b[A-Z]\w*\.[a-zA-Z]\w*|(?:^|[\s(])\.[a-z]\w*|\w\(_?\w*:?\)/
        let member =
            /(?:^|[\s(])(?:options|timeouts|connections|trust|redirects|retries|limits|headers|policy)\.[a-z]\w*/
        // A setting of the configuration file is not one of Swift.
        let text = String(text).replacing("policy.allow", with: "")
        return text.contains(word) || text.contains(member) || text.contains("underlying")
    }
}
#endif
