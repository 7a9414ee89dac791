// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration

/// A request to an address that a configuration file or HTTP-DNS gives, under the name in its URL.
///
///     swift run FirstRequest httpdns.yaml https://img.shop.example/a.jpg [ADDRESS]
///
/// With ADDRESS it also asks that address alone, and then moves the name there for all later requests.
@main
struct FirstRequest {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let file = arguments.first, let url = arguments.dropFirst().first else {
            print("usage: FirstRequest FILE URL [ADDRESS]")
            return
        }
        let client = try await HTTPDNSClient(configuration: .file(file))
        do {
            let response = try await client.get(url) { $0.timeouts.total = .seconds(2) }
            print(response.status, response.destination)
            let body = try await response.body.collect(upTo: .mebibytes(4))
            print("\(body.count) bytes")

            if let address = arguments.dropFirst(2).first {
                try await move(url, to: address, client: client)
            }
        } catch let error as HTTPDNSClientError {
            report(error)
        }
        try await client.shutdown(drainingFor: .seconds(5))
    }

    /// Tries an address with one request, and gives it to everyone when that went well.
    static func move(_ url: String, to address: String, client: HTTPDNSClient) async throws {
        // This request only: Host, SNI and certificate check stay those of the name.
        let probe = try await client.get(url) {
            $0.addresses = .only([HTTPDNSClient.Request.Target(address)])
            $0.timeouts.total = .seconds(2)
        }
        print("probe:", probe.status, probe.destination)
        _ = try await probe.body.collect(upTo: .mebibytes(4))

        guard let host = probe.exchanges.last?.request.serverName else { return }
        // Atomic: the next request goes there, transfers in flight finish where they are.
        let generation = try client.mappings.apply { $0[host] = .addresses([address]) }
        let moved = try await client.get(url) { $0.timeouts.total = .seconds(2) }
        print("generation \(generation):", moved.status, moved.destination)
        _ = try await moved.body.collect(upTo: .mebibytes(4))
    }

    static func report(_ error: HTTPDNSClientError) {
        print(error)
        for attempt in error.attempts {
            print("  \(attempt)")  // 203.0.113.7:443 tls: certificate is for other.test (12 ms)
        }
        if !error.requestMayHaveBeenSent {
            print("  nothing reached the server: sending it again is safe for any method")
        }
    }
}
