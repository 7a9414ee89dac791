// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

enum Proxies {
    static func proxy(_ configuration: inout HTTPDNSClient.Configuration) throws {
        var proxy = try HTTPDNSClient.Proxy("http://proxy.example:3128")
        proxy.credential = .init(user: "service", password: .file("/run/secrets/proxy"))
        configuration.proxy = .through(proxy, except: try .init([".internal.example", "10.0.0.0/8"]))

        proxy.resolvesLocally = true

        configuration.proxy = .environment
    }

    static func ways(_ client: HTTPDNSClient) async throws {
        let past = HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg") { $0.proxy = .off }

        let info = HTTPDNSClient.Request(url: "http://localhost/containers/json") { $0.unixSocket = "/run/engine.sock" }

        _ = try await client.execute(past)
        _ = try await client.execute(info)
    }

    static func source(_ configuration: inout HTTPDNSClient.Configuration) {
        configuration.localSource = .interface("eth1")
    }
}
