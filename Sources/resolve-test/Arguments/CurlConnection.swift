// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCurl

extension CurlConnectionOptions {
    /// Applies the options to a request, and to the settings of its client.
    func apply(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings) throws(CommandFailure) {
        guard !(usesIPv4 && usesIPv6) else { throw .usage("-4 and -6 cannot be combined", hint: "use --family both") }
        if usesIPv4 || usesIPv6 {
            let families: HTTPDNSAddress.Families = usesIPv4 ? .v4 : .v6
            settings.configuration.resolver.families = families
            request.changeOptions { $0.families = families }
        }
        try checkProtocols(of: request.url)
        try ResolveRules(resolve, request.url).apply(to: &request, &settings)
        try ConnectToRules(connectTo, request.url).apply(to: &request, &settings)
        if let unixSocket { request.changeOptions { $0.unixSocket = unixSocket } }
        if let interface { settings.configuration.localSource = Self.localSource(interface) }
        if let seconds = connectSeconds,
            let limit = try DurationArgument.limit(seconds, of: "--connect-timeout").map({ Duration.seconds($0) })
        {
            settings.configuration.timeouts.connect = limit
            settings.configuration.timeouts.tls = limit
        }
        try applyProxy(to: &request, settings)
        try applyVersions(to: &request)
        try applyTrust(to: &settings)
    }

    /// Leaves out the proxy of a file, and its Unix socket unless an option names one.
    private func direct(_ options: inout HTTPDNSClient.Request.Options) {
        options.proxy = .off
        if unixSocket == nil { options.unixSocket = nil }
    }

    private func checkProtocols(of url: String) throws(CommandFailure) {
        guard let refusal = try AllowedProtocols(self).refusal(of: url, isRedirect: false) else { return }
        throw .failed(code: "protocol-refused", refusal, curlStatus: CurlExitStatus.unsupportedProtocol)
    }

    private static func localSource(_ text: String) -> HTTPDNSClient.Configuration.LocalSource {
        if text.hasPrefix("if!") { return .interface(String(text.dropFirst(3))) }
        let name = text.hasPrefix("host!") ? String(text.dropFirst(5)) : text
        return HTTPDNSAddress(name).map { .address($0) } ?? .interface(name)
    }

    private func applyProxy(to request: inout HTTPDNSClient.Request, _ settings: ClientSettings) throws(CommandFailure)
    {
        guard let proxy else {
            guard proxyUser == nil else { throw .usage("-U has the login of a proxy, and no -x is given") }
            if proxyExceptions == "*" { request.changeOptions(direct) }
            return
        }
        guard !proxy.isEmpty, proxyExceptions != "*" else {
            request.changeOptions(direct)
            return
        }
        do throws(HTTPDNSClientError) {
            var parsed = try HTTPDNSClient.Proxy(proxy)
            if let proxyUser {
                let user = String(proxyUser.prefix { $0 != ":" })
                let password = String(proxyUser.dropFirst(user.count + 1))
                parsed.credential = .init(user: user, password: password.isEmpty ? nil : HTTPDNSSecret { password })
            }
            let names = (proxyExceptions ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
            let rules = HTTPDNSClient.Proxy.Rules.through(parsed, except: try .init(names))
            request.changeOptions { $0.proxy = rules }
        } catch {
            throw .usage("-x: \(error.message)", hint: error.hint)
        }
    }

    private func applyVersions(to request: inout HTTPDNSClient.Request) throws(CommandFailure) {
        let versions: [(isChosen: Bool, HTTPDNSClient.AllowedVersions)] = [
            (usesHTTP10, .http10Only), (usesHTTP11, .http1Only), (usesHTTP2, .automatic), (usesHTTP2Only, .http2Only),
        ]
        let chosen = versions.filter(\.isChosen).map(\.1)
        guard chosen.count <= 1 else { throw .usage("two HTTP versions are given", hint: "give one of them") }
        if let version = chosen.first { request.changeOptions { $0.versions = version } }
    }

    private func applyTrust(to settings: inout ClientSettings) throws(CommandFailure) {
        let texts = keyPins?.split(separator: ";")
        guard texts?.isEmpty != true else {
            throw .usage("--pinnedpubkey has no key", hint: "write --pinnedpubkey 'sha256//BASE64'")
        }
        let pins: [HTTPDNSTrust.PublicKeyPin]
        do throws(HTTPDNSTrust.Error) {
            pins = try (texts ?? []).map { text throws(HTTPDNSTrust.Error) in try .init(String(text)) }
        } catch {
            throw .usage("--pinnedpubkey: \(error.message)")
        }
        let versions: [String: HTTPDNSTrust.TLSVersion] = ["1.2": .tls12, "1.3": .tls13]
        if let maximumTLS, versions[maximumTLS] == nil {
            throw .usage("--tls-max \(maximumTLS) is not supported", hint: "write 1.2 or 1.3")
        }
        let client = clientCertificate()
        settings.configuration.changeTrust { trust in
            if isInsecure { trust.verification = .insecurelyAcceptingAnyCertificate }
            if let client { trust.clientCertificate = client }
            if usesTLS13 { trust.minimumVersion = .tls13 }
            if let maximumTLS, let version = versions[maximumTLS] { trust.maximumVersion = version }
            if !pins.isEmpty { trust.pin(pins) }
        }
    }

    /// Returns the certificate of `-E FILE[:PASSWORD]`.
    private func clientCertificate() -> HTTPDNSTrust.ClientCertificate? {
        guard let certificate else { return nil }
        var file = certificate
        var password = keyPassword
        if access(certificate, R_OK) != 0, let colon = certificate.lastIndex(of: ":") {
            file = String(certificate[..<colon])
            password = password ?? String(certificate[certificate.index(after: colon)...])
        }
        return .init(
            certificateFile: file,
            keyFile: key,
            keyPassword: password.map { password in .closure { password } }
        )
    }
}

extension HTTPDNSClient.Configuration {
    mutating func changeTrust(_ change: (inout HTTPDNSTrust) -> Void) {
        change(&trust)
        trustByHost = trustByHost.mapValues { old in
            var trust = old
            change(&trust)
            return trust
        }
    }
}

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
#endif
