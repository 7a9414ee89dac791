// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSNIO

/// The proxy for other clients, with a mapping. It prints the value of `all_proxy`, and ends with its standard input.
///
/// `bench-proxy HOST ADDRESS`
@main
struct ProxyContender {
    static func main() async throws {
        var configuration = HTTPDNSClient.Configuration()
        let arguments = CommandLine.arguments
        let target = HTTPDNSMapping.addresses([arguments[2]])
        configuration.resolver.mappings[try HTTPDNSMapping.Key(arguments[1])] = target
        let client = try await HTTPDNSClient(configuration: configuration)
        let proxy = try await HTTPDNSProxy(client)
        print(proxy.listener.environment["all_proxy"] ?? "")
        // Standard output is a file.
        fflush(nil)
        while readLine() != nil {}
        await proxy.shutdown()
        try await client.shutdown()
    }
}
