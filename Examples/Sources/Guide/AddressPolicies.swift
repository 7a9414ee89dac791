// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Networks that requests may reach, and those that a name may not leave.
func allowingNetworks(_ configuration: inout HTTPDNSClient.Configuration) throws {
    if let cluster = HTTPDNSAddressBlock("10.1.0.0/16"), let payments = HTTPDNSAddressBlock("203.0.113.0/24") {
        configuration.resolver.policy.allowed = [cluster]
        var pay = HTTPDNSRoute(try .init("pay.shop.example"), .providers(["backup"], fallback: .off))
        pay.only = [payments]
        configuration.resolver.routes.append(pay)
    }
}
