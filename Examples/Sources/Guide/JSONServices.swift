// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSVendors

/// Services that answer in JSON.
enum JSONServices {
    static func free() throws -> [any HTTPDNSProvider] {
        let google = try HTTPDNSJSONProvider(.init(name: "google", service: .google))
        let inHouse = try HTTPDNSJSONProvider(
            .init(
                name: "in-house",
                service: .google,
                url: "https://dns.shop.example/resolve",
                bootstrap: [HTTPDNSAddress(v4: 203, 0, 113, 53)]
            )
        )

        return [google, inHouse]
    }

    static func paid() -> HTTPDNSJSONProvider.Service {
        let service = HTTPDNSJSONProvider.Service.alidns(
            account: "100000",
            accessKey: "LTAI-example",
            secret: .file("/run/secrets/alidns")
        )

        return service
    }
}
