// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Calls besides async ones, limits, and the loop's thread.
enum Calling {
    static func limits() -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.connections.maximumPerHost = 64
        configuration.connections.maximum = 1024
        configuration.connections.queueWait = .seconds(2)
        configuration.connections.loops = 2
        return configuration
    }

    static func urgent(_ client: HTTPDNSClient) async throws {
        let response = try await client.get("https://pay.shop.example/v1/charge") {
            $0.priority = .high
            $0.timeouts.total = .milliseconds(300)
        }
        print(response.status)
    }

    static func callback(_ client: HTTPDNSClient, _ show: @escaping @Sendable ([UInt8]) -> Void) {
        let call = client.execute(HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg")) { result in
            guard let response = try? result.get() else { return }
            show(response.body)
        }
        call.cancel()
    }

    static func blocking(_ client: HTTPDNSClient) throws {
        let response = try client.executeAndWait(HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg"))
        print(response.status, response.body.count)
    }
}
