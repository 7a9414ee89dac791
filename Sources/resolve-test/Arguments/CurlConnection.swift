// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
            request.options.families = families
        }
        try checkProtocols(of: request.url)
        let url = try? ParsedURL(request.url)
        for text in resolve { try ResolveArgument(text, url).apply(to: &settings) }
        for text in connectTo { try ConnectToArgument(text, url).apply(to: &request, &settings) }
        request.options.unixSocket = unixSocket
        if let interface { settings.configuration.localSource = Self.localSource(interface) }
        if let seconds = connectSeconds,
            let limit = try RequestOptions.limit(seconds, of: "--connect-timeout").map({ Duration.seconds($0) })
        {
            settings.configuration.timeouts.connect = limit
            settings.configuration.timeouts.tls = limit
        }
        try applyProxy(to: &request, settings)
        try applyVersions(to: &request)
        try applyTrust(to: &settings)
    }

    /// Refuses a URL whose scheme is not allowed.
    private func checkProtocols(of url: String) throws(CommandFailure) {
        guard let refusal = try AllowedProtocols(self).refusal(of: url, isRedirect: false) else { return }
        var failure = CommandFailure.failed(code: "protocol-refused", refusal)
        failure.curlStatus = CurlExitStatus.unsupportedProtocol
        throw failure
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
            if proxyExceptions == "*" { request.options.proxy = .direct }
            return
        }
        guard !proxy.isEmpty, proxyExceptions != "*" else {
            request.options.proxy = .direct
            return
        }
        do throws(HTTPDNSClientError) {
            var parsed = try HTTPDNSClient.Proxy(proxy)
            if let proxyUser {
                let parts = proxyUser.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(
                    String.init
                )
                let password = parts.count > 1 && !parts[1].isEmpty ? parts[1] : nil
                parsed.credential = .init(user: parts[0], password: password.map { text in HTTPDNSSecret { text } })
            }
            let names = (proxyExceptions ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
            request.options.proxy = .through(parsed, except: try .init(names))
        } catch {
            throw .usage("-x: \(error.message)", hint: error.hint)
        }
    }

    private func applyVersions(to request: inout HTTPDNSClient.Request) throws(CommandFailure) {
        let chosen = [usesHTTP10, usesHTTP11, usesHTTP2, usesHTTP2Only].filter(\.self).count
        guard chosen <= 1 else { throw .usage("two HTTP versions are given", hint: "give one of them") }
        if usesHTTP10 { request.options.versions = .http10Only }
        if usesHTTP11 { request.options.versions = .http1Only }
        if usesHTTP2 { request.options.versions = .automatic }
        if usesHTTP2Only { request.options.versions = .http2Only }
    }

    private func applyTrust(to settings: inout ClientSettings) throws(CommandFailure) {
        var pins: [HTTPDNSTrust.PublicKeyPin] = []
        let texts = keyPins?.split(separator: ";")
        guard texts?.isEmpty != true else {
            throw .usage("--pinnedpubkey has no key", hint: "write --pinnedpubkey 'sha256//BASE64'")
        }
        for text in texts ?? [] {
            do throws(HTTPDNSTrust.Error) {
                pins.append(try HTTPDNSTrust.PublicKeyPin(String(text)))
            } catch {
                throw .usage("--pinnedpubkey: \(error.message)")
            }
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

    /// Returns the certificate of `-E FILE[:PASSWORD]`. The password goes to an environment variable of this process, since the
    /// settings take it from there.
    private func clientCertificate() -> HTTPDNSTrust.ClientCertificate? {
        guard let certificate else { return nil }
        var file = certificate
        var password = keyPassword
        if access(certificate, R_OK) != 0, let colon = certificate.lastIndex(of: ":") {
            file = String(certificate[..<colon])
            password = password ?? String(certificate[certificate.index(after: colon)...])
        }
        let variable = "RESOLVE_TEST_KEY_PASSWORD"
        if let password { setenv(variable, password, 1) }
        return .init(certificateFile: file, keyFile: key, keyPassword: password.map { _ in .environment(variable) })
    }
}

extension HTTPDNSClient.Configuration {
    /// Changes the trust settings of all origins.
    mutating func changeTrust(_ change: (inout HTTPDNSTrust) -> Void) {
        change(&trust)
        trustByHost = trustByHost.mapValues { old in
            var trust = old
            change(&trust)
            return trust
        }
    }
}

/// The value of `--resolve`: a mapping for one port of a name.
struct ResolveArgument {
    private let key: HTTPDNSMapping.Key
    private let mapping: HTTPDNSMapping

    /// - Parameters:
    ///   - text: `[+]HOST:PORT:ADDRESS[,ADDRESS]`; `*` stands for the host of the URL.
    ///   - url: The URL of the request; nil when it cannot be read.
    init(_ text: String, _ url: ParsedURL?) throws(CommandFailure) {
        let form = "write --resolve HOST:PORT:ADDRESS[,ADDRESS], such as --resolve img.shop.example:443:203.0.113.7"
        var parts = (text.hasPrefix("+") ? text.dropFirst() : text[...])
            .split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts[2].isEmpty, let port = UInt16(parts[1]), port > 0 else {
            throw .usage("--resolve \"\(text)\" is not a host, a port and its addresses", hint: form)
        }
        if parts[0] == "*", let url { parts[0] = url.hostText }
        let addresses = parts[2].split(separator: ",").map { AddressForm.withoutBrackets($0) }
        (key, mapping) = try Self.rule(parts[0], port, addresses, option: "--resolve", text: text, hint: form)
    }

    func apply(to settings: inout ClientSettings) { settings.map(key, to: mapping) }

    /// Returns a checked rule.
    static func rule(
        _ host: String,
        _ port: UInt16?,
        _ addresses: [String],
        option: String,
        text: String,
        hint: String
    ) throws(CommandFailure) -> (HTTPDNSMapping.Key, HTTPDNSMapping) {
        do throws(HTTPDNSMapping.Error) {
            let key = try HTTPDNSMapping.Key(port.map { "\(host):\($0)" } ?? host)
            var rule = HTTPDNSMapping.addresses(addresses)
            rule.location = HTTPDNSSourceLocation(file: option)
            _ = try HTTPDNSMappings([key: rule])
            return (key, rule)
        } catch {
            throw .usage("\(option) \"\(text)\": \(error.reason)", hint: hint)
        }
    }
}

/// The value of `--connect-to`: another host and port to connect to.
struct ConnectToArgument {
    private let text: String
    private let host: String
    private let port: UInt16?
    private let isForURL: Bool
    /// The addresses, or the name, to connect to.
    private let targets: [String]
    private let name: String?

    /// - Parameter text: `HOST1:PORT1:HOST2:PORT2`. An empty part stands for every host or port, and for that of the URL.
    init(_ text: String, _ url: ParsedURL?) throws(CommandFailure) {
        let form =
            "write --connect-to HOST1:PORT1:HOST2:PORT2, such as --connect-to img.shop.example:443:127.0.0.1:8443"
        let parts = AddressForm.parts(text)
        guard parts.count == 4, let port1 = AddressForm.port(parts[1]), let port2 = AddressForm.port(parts[3]), let url
        else { throw .usage("--connect-to \"\(text)\" is not two hosts with ports", hint: form) }
        self.text = text
        host = parts[0].isEmpty ? url.hostText : parts[0]
        port = port1 ?? nil
        isForURL = host.lowercased() == url.hostText && (port == nil || port == url.port)
        let host2 = parts[2].isEmpty ? host : parts[2]
        let suffix = (port2 ?? nil).map { ":\($0)" } ?? ""
        let literals = host2.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host2]
        targets = literals.compactMap { HTTPDNSAddress($0) }.map { address in
            suffix.isEmpty
                ? address.description : address.family == .v6 ? "[\(address)]\(suffix)" : "\(address)\(suffix)"
        }
        name = targets.isEmpty ? host2 : nil
        guard name == nil || suffix.isEmpty || (port2 ?? nil) == port ?? url.port else {
            throw .usage(
                "--connect-to \"\(text)\": another port needs the address of \(host2)",
                hint: "give its address in place of the name"
            )
        }
    }

    func apply(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings) throws(CommandFailure) {
        if HTTPDNSAddress(host) != nil {
            guard isForURL, name == nil else { return }
            request.options.addresses = .only(targets.map { .init($0) })
            return
        }
        let option = "--connect-to"
        let hint = "give a name, or nothing for every host"
        var (key, rule) = try ResolveArgument.rule(
            host,
            port,
            name == nil ? targets : ["127.0.0.1"],
            option: option,
            text: text,
            hint: hint
        )
        if let name {
            guard name != host else { return }
            rule = .via(name)
            rule.location = HTTPDNSSourceLocation(file: option)
            do throws(HTTPDNSMapping.Error) { _ = try HTTPDNSMappings([key: rule]) } catch {
                throw .usage("\(option) \"\(text)\": \(error.reason)", hint: hint)
            }
        }
        settings.map(key, to: rule)
    }
}

/// The parts of curl's forms of hosts, ports and addresses.
private enum AddressForm {
    static func withoutBrackets(_ text: some StringProtocol) -> String {
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : String(text)
    }

    /// Returns the parts between colons outside brackets, without the brackets.
    static func parts(_ text: String) -> [String] {
        var isBracketed = false
        return text.split(maxSplits: .max, omittingEmptySubsequences: false) { character in
            if character == "[" { isBracketed = true }
            if character == "]" { isBracketed = false }
            return character == ":" && !isBracketed
        }.map { withoutBrackets($0) }
    }

    /// Returns a port, `.some(nil)` for an empty text, and nil for anything else.
    static func port(_ text: String) -> UInt16?? {
        if text.isEmpty { return .some(nil) }
        guard let port = UInt16(text), port > 0 else { return nil }
        return port
    }
}
