// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The smallest program that links the client, and with it every floor below: LinkageTests looks at what else came along.
///
/// With arguments it is a backend in miniature, for runs under the tripwire:
/// `httpdns-linkage-probe DOH-URL CA-FILE URL...` asks the service at 127.0.0.1, gets every URL twice at the same time,
/// and prints each status and address.
@main
struct LinkageProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count > 2 else {
            print(HTTPDNSClient.self)
            return
        }
        let words = Array(arguments)
        var service = HTTPDNSDoHProvider.Configuration(
            name: "doh",
            url: words[0],
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        service.trustRoots = .file(words[1])
        service.answerScope = .loopback
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(words[1])
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        let client = try await HTTPDNSClient(configuration: configuration)
        await withTaskGroup(of: String.self) { group in
            for url in words[2...] + words[2...] {
                group.addTask {
                    do {
                        let response = try await client.get(url)
                        _ = try await response.body.collect(upTo: .mebibytes(1))
                        let address = response.exchanges.last?.remote.address.description ?? "-"
                        return "\(response.status.code) \(address) \(url)"
                    } catch {
                        return "\((error as? HTTPDNSClientError)?.shortDescription ?? "error") - \(url)"
                    }
                }
            }
            for await line in group { print(line) }
        }
        try await client.shutdown()
    }
}
