// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Rules that a running client is given.
enum Mappings {
    static func change(_ client: HTTPDNSClient) throws {
        let generation = try client.mappings.apply { rules in
            rules["img.shop.example"] = .addresses(["203.0.113.7", "2001:db8::7"])
            rules["api.shop.example:8443"] = .weighted(["203.0.113.8": 95, "203.0.113.9": 5])
            rules["cdn.shop.example"] = .via("edge.cdn.example")
            rules["*.legacy.shop.example"] = .system
            rules["old.shop.example"] = nil
        }

        print(generation, client.mappings.current.rules.count)
    }
}
