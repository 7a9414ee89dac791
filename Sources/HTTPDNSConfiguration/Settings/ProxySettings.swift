// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The settings below `client.proxy`.
struct ProxySettings {
    private var proxy: HTTPDNSClient.Proxy?
    private var user: String?
    private var password: HTTPDNSSecret?
    private var scheme = HTTPDNSClient.Proxy.Credential.Scheme.basic
    private var resolvesLocally = false
    private var enforcesReachableNetworks = false
    private var exceptions: [String] = []

    private static let settings: [Setting<Self>] = [
        .init("url", \.proxy, url("a proxy such as http://proxy.example:3128")).means("The proxy.")
            .required("such as http://proxy.example:3128"),
        .init("user", \.user, .text("the user's name")).means("The user name for the proxy."),
        .init("password", \.password, .secret).means("The place of the password, beside `user`."),
        .init("scheme", \.scheme, .words(["basic": .basic, "digest": .digest]))
            .means("The scheme for the login at an HTTP proxy, beside `user`."),
        .init("resolve", \.resolvesLocally, .words(["proxy": false, "local": true]))
            .means("The party that looks names up; `local` is with mappings and providers, as without a proxy."),
        .init("enforces_reachable_networks", \.enforcesReachableNetworks, .truth)
            .means("Whether the proxy itself refuses what `client.reachable_networks` excludes."),
        .init("except", \.exceptions, exceptionsForm).means("Hosts that are reached without the proxy."),
    ]

    /// The proxy with its exceptions; nil after a mistake in its URL.
    private var rules: HTTPDNSClient.Proxy.Rules? {
        guard var proxy else { return nil }
        proxy.resolvesLocally = resolvesLocally
        proxy.enforcesReachableNetworks = enforcesReachableNetworks
        if let user {
            proxy.credential = HTTPDNSClient.Proxy.Credential(user: user, password: password)
            proxy.credential?.scheme = scheme
        }
        return .through(proxy, except: (try? HTTPDNSClient.Proxy.Exceptions(exceptions)) ?? .none)
    }

    static let form = SettingForm<HTTPDNSClient.Proxy.Rules> { _ in
        SettingFacts(isSecret: true, parts: settings.map { $0.facts(Self()) })
    } read: { reader, node, path, old in
        if node.isEmpty { return .off }
        if node.isMapping { return mapping.read(&reader, node, path, old) }
        let form = "a proxy such as http://proxy.example:3128, environment, or none"
        switch node.text {
        case "environment": return .environment
        case "none": return .off
        default: return reader.read(url(form), of: node, path: path).map { .through($0) }
        }
    }

    private static let mapping = SettingForm<HTTPDNSClient.Proxy.Rules>.section(
        settings,
        start: { _ in Self() },
        end: { $0.rules }
    ) { reader, _, fields, path in
        for key in ["password", "scheme"] where fields["user"] == nil {
            guard let node = fields[key] else { continue }
            reader.mistakes.add("\(path).\(key): there is no user", at: node.position, hint: "give \(path).user")
        }
    }

    private static func url(_ allowed: String) -> SettingForm<HTTPDNSClient.Proxy> {
        SettingForm(
            allowed,
            values: "scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, host and port",
            isSecret: true
        ) { (text, _) throws(ValueMistake) in
            try TruthText.refuse(text, allowed)
            let proxy: HTTPDNSClient.Proxy
            do throws(HTTPDNSClientError) {
                proxy = try HTTPDNSClient.Proxy(text)
            } catch {
                throw ValueMistake(error.message, hint: error.hint)
            }
            guard proxy.credential == nil else {
                throw ValueMistake(
                    "the proxy \(proxy) has a user in its URL",
                    hint:
                        "a password does not belong into this file: give user, and password: { file: PATH } or { env: NAME }"
                )
            }
            return proxy
        }
    }

    private static let exceptionsForm: SettingForm<[String]> = {
        let allowed = "names, addresses or blocks such as 10.0.0.0/8, one or a list"
        let values = "names with all below them, addresses, blocks, `*`"
        return .list(
            of: SettingForm<String>(allowed, values: values) { (text, _) throws(ValueMistake) in
                do throws(HTTPDNSClientError) {
                    _ = try HTTPDNSClient.Proxy.Exceptions([text])
                } catch {
                    throw ValueMistake(error.message, hint: error.hint)
                }
                return text
            },
            allowed
        )
    }()
}
