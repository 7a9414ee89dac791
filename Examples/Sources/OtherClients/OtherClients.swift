// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import AsyncHTTPClient
import GRPCNIOTransportHTTP2Posix
import HTTPDNS
import HTTPDNSGRPC
import HTTPDNSNIO
import NIOPosix

/// A connection of SwiftNIO by a client's resolver, and one by its race and its records of endpoints too.
func connecting(_ client: HTTPDNSClient, _ group: MultiThreadedEventLoopGroup) async throws {
    let channel = try await ClientBootstrap(group: group)
        .resolver(HTTPDNSNIOResolver(client.resolver))
        .connect(host: "img.shop.example", port: 443).get()
    try await channel.close()

    let other = try await ClientBootstrap(group: group)
        .connect(host: "img.shop.example", port: 443, through: client)
    try await other.close()
}

/// A transport of gRPC whose channel follows each move of the name.
func callingGRPC(_ client: HTTPDNSClient) throws -> HTTP2ClientTransport.Posix {
    let transport = try HTTP2ClientTransport.Posix(
        target: .dns(host: "orders.shop.example"),
        transportSecurity: .tls,
        resolverRegistry: .httpDNS(client.resolver)
    )
    return transport
}

/// A pool of connections of the program's own, which follows each move of the name.
func following(_ resolver: HTTPDNSResolver, _ use: ([HTTPDNSEndpoint]) -> Void) async throws {
    let query = HTTPDNSResolver.Query(try HTTPDNSHost("orders.shop.example"), port: 443)
    for try await resolution in resolver.addresses(of: query) {
        use(resolution.endpoints)
    }
}

/// AsyncHTTPClient through the proxy.
func usingAsyncHTTPClient(_ client: HTTPDNSClient) async throws -> HTTPClient {
    let proxy = try await HTTPDNSProxy(client)
    let listener = proxy.listener
    var configuration = HTTPClient.Configuration()
    configuration.proxy = .server(
        host: listener.host,
        port: listener.port,
        authorization: .basic(username: listener.user, password: listener.password)
    )
    return HTTPClient(configuration: configuration)
}

/// URLSession through the proxy: the first two lines of `main`, and two later ones.
func usingURLSession() async throws -> HTTPDNSProxy {
    let listener = try HTTPDNSProxy.Listener()
    try listener.installForURLSession()
    let client = try await HTTPDNSClient()
    let proxy = try await HTTPDNSProxy(client, on: listener)
    return proxy
}
