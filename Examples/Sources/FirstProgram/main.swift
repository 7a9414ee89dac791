// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

do {
    let configuration = try HTTPDNSClient.Configuration.doh("https://dns.example/dns-query", bootstrap: ["192.0.2.53"])

    try await withHTTPDNSClient(configuration: configuration) { client in
        let response = try await client.get("https://img.shop.example/a.jpg")
        print(response.status, response.destination)
    }
} catch {
    print(error)
}
