// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSPrimitives

/// The settings of a local agent in a configuration file (`agent`). A client ignores them.
package struct AgentSettings: Hashable, Sendable {
    /// The path of the socket for libnss-resolve; nil for none.
    package var varlink: String?
    /// The path of the control socket; nil for none.
    package var control: String?
    /// The proxy; nil for none.
    package var proxy: Proxy?
    /// The time within which each lookup is replied to.
    package var timeLimit: Duration = .seconds(2)

    package init() {}

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
        .init("control", \.control, .unixSocket).means("The control socket, for `dump`, `watch` and `switch`."),
        .init("proxy", \.proxy, .section(Proxy.settings) { _ in Proxy() })
            .means("The proxy on 127.0.0.1, SOCKS 5 and CONNECT."),
        .init("time_limit", \.timeLimit, .duration(.milliseconds(100)...(.seconds(30))))
            .means("The time within which each lookup is replied to."),
    ]
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
