// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// The code that Docs/MigratingFromAsyncHTTPClient.md shows for this library.
enum Migration {
    static func get() async throws -> [UInt8] {
        var configuration = HTTPDNSClient.Configuration()
        configuration.timeouts.connect = .seconds(2)
        let client = try await HTTPDNSClient(configuration: configuration)

        let response = try await client.get("https://img.shop.example/a.jpg", headerFields: [.accept: "image/jpeg"]) {
            $0.timeouts.total = .seconds(5)
        }
        let picture = try await response.body.collect(upTo: .mebibytes(4))

        try await client.shutdown()

        return picture
    }

    struct Charge: Codable { var amount: Int }
    struct Receipt: Codable { var number: String }

    static func post(_ client: HTTPDNSClient, charge: Charge) async throws -> Receipt {
        let response = try await client.post("https://pay.shop.example/v1/charge", json: charge) {
            $0.timeouts.total = .seconds(2)
        }
        let receipt = try await response.body.decode(Receipt.self, upTo: .kibibytes(64))

        return receipt
    }

    static func upload(_ client: HTTPDNSClient) async throws {
        var request = HTTPDNSClient.Request(method: .put, url: "https://img.shop.example/big.iso")
        request.body = .file("/var/lib/app/big.iso")
        request.changeOptions { $0.timeouts.total = .seconds(600) }  // the body of the response included
        let response = try await client.execute(request)

        for try await chunk in response.body { print(chunk.count) }
    }

    static func settings() throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.redirects.limit = 5
        configuration.connections.maximumPerHost = 8
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("img.shop.example"): .addresses(["203.0.113.7"])]
        configuration.proxy = .through(try HTTPDNSClient.Proxy("http://proxy.example:3128"))
        configuration.trust.roots = .file("/etc/app/ca.pem")

        return configuration
    }

    static func errors(_ client: HTTPDNSClient) async throws {
        do {
            _ = try await client.get("https://img.shop.example/a.jpg") { $0.timeouts.total = .seconds(2) }
        } catch let error as HTTPDNSClientError where error.code == .timedOut {
            print(error.phase, error.requestMayHaveBeenSent)
        }
    }
}
