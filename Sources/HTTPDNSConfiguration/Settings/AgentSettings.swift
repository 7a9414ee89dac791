// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSPrimitives

/// The settings of a local agent in a configuration file (`agent`). A client ignores them.
package struct AgentSettings: Hashable, Sendable {
    /// The path of the socket for libnss-resolve; nil for none.
    package var varlink: String?
    /// The path of the socket for systemd-resolved's hook; nil for none.
    package var hook: String?
    /// The path of the control socket; nil for none.
    package var control: String?
    /// The proxy; nil for none.
    package var proxy: Proxy?
    /// The name server; nil for none.
    package var dns: NameServer?
    /// The time within which each lookup is replied to.
    package var timeLimit: Duration = .seconds(2)

    package init() {}

    /// A name server.
    package struct NameServer: Hashable, Sendable {
        /// The addresses to listen on.
        package var listen: [HTTPDNSEndpoint] = []
        /// The servers for names that are not decided here; nil for none.
        package var forward: HTTPDNSDNSProvider.Servers?
        /// The networks of clients besides loopback.
        package var allowed: [HTTPDNSAddressBlock] = []

        package init() {}
    }

    /// A proxy on 127.0.0.1.
    package struct Proxy: Hashable, Sendable {
        package var port = 1080
        package var password: HTTPDNSSecret?
        /// The networks that literals, and names without mapping and route, may reach besides public addresses.
        package var allowed: [HTTPDNSAddressBlock] = []
        /// The time after which all tunnels to a left address end; nil keeps them.
        package var drainDeadline: Duration?

        package init() {}
    }
}

extension AgentSettings {
    static let settings: [Setting<Self>] = [
        .init("varlink", \.varlink, .unixSocket).means(
            "The socket for libnss-resolve, usually `/run/systemd/resolve/io.systemd.Resolve`."
        ),
        .init("hook", \.hook, .unixSocket).means(
            "The socket for systemd-resolved 259 and later, such as `/run/systemd/resolve.hook/httpdns`."
        ),
        .init("control", \.control, .unixSocket).means("The control socket, for `dump`, `watch` and `switch`."),
        .init("proxy", \.proxy, .section(Proxy.settings) { _ in Proxy() })
            .means("The proxy on 127.0.0.1, SOCKS 5 and CONNECT."),
        .init("dns", \.dns, .section(NameServer.settings) { _ in NameServer() })
            .means("The [name server](Operations/Agent.md#the-name-server), over UDP and TCP."),
        .init("time_limit", \.timeLimit, .duration(.milliseconds(100)...(.seconds(30))))
            .means("The time within which each lookup is replied to."),
    ]
}

extension AgentSettings.NameServer {
    fileprivate static let settings: [Setting<Self>] = [
        .init("listen", \.listen, .listening)
            .means("The addresses to listen on, with port 53 unless they have another.")
            .required("such as listen: 127.0.0.1"),
        .init("forward", \.forward, .servers).means(
            "The name servers for names without mapping and route. Without it they are refused."
        ),
        .init("allow", \.allowed, .blocks).means("The networks of clients besides loopback."),
    ]
}

extension SettingForm<[HTTPDNSEndpoint]> {
    fileprivate static let listening = SettingForm.list(
        of: SettingForm<HTTPDNSEndpoint>(
            "an address of this machine",
            values: "addresses of this machine, with a port or without"
        ) { (text, _) throws(ValueMistake) in
            let endpoint = try TargetText.parseServer(text, port: 53)
            guard endpoint.address != HTTPDNSAddress(v4: 0, 0, 0, 0),
                endpoint.address.bytes.contains(where: { $0 != 0 })
            else {
                throw ValueMistake(
                    "\(quoted(text)) is every address of this machine",
                    hint: "name each address: a reply must come from the one that was asked"
                )
            }
            return endpoint
        },
        "addresses of this machine, one or a list"
    )
}

extension AgentSettings.Proxy {
    fileprivate static let settings: [Setting<Self>] = [
        .init("port", \.port, .number(1...65_535)).means("The port on 127.0.0.1."),
        .init("password", \.password, .secret).means("The place of the password of the user `httpdns`.")
            .required("as { file: PATH }: without a password every process of the machine could use the proxy"),
        .init("allow", \.allowed, .blocks).means(
            "Networks that literals, and names without mapping and route, may reach besides public addresses."
        ),
        .init("drain_deadline", \.drainDeadline, .limit(.seconds(1)...(.seconds(24 * 3600)))).means(
            "The time after which all tunnels to an address end that their name has left. Quiet ones end after 2 s."
        ),
    ]
}
