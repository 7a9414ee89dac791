// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct SettingLimitTests {
    @Test("An impossible limit is refused with the setting's name")
    func refused() throws {
        let cases: [(String, @Sendable (inout HTTPDNSResolver.Configuration) -> Void)] = [
            ("query is not above zero", { $0.attemptLimit = .zero }),
            ("query is not above zero", { $0.attemptLimit = .seconds(-1) }),
            ("hedgeAfter is negative", { $0.hedgeAfter = .seconds(-1) }),
            ("cache.stale_limit is negative", { $0.cache.staleLimit = .seconds(-1) }),
            ("cache.stale_after is negative", { $0.cache.staleAfter = .seconds(-1) }),
            ("cache.ttl.system is negative", { $0.cache.systemTimeToLive = .seconds(-1) }),
            ("its stale limit is negative", { $0.routes[0].staleLimit = .seconds(-1) }),
            (
                "maximumInFlight is 0",
                { $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 0) }
            ),
            (
                "queriesPerSecond is 0.0",
                { $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(queriesPerSecond: 0) }
            ),
            (
                "queriesPerSecond is -1.0",
                { $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(queriesPerSecond: -1) }
            ),
            (
                "queriesPerSecond is nan",
                { $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(queriesPerSecond: .nan) }
            ),
            (
                "queriesPerSecond is inf",
                { $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(queriesPerSecond: .infinity) }
            ),
        ]
        for (text, change) in cases {
            let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try ResolverFixture { change(&$0) } }
            #expect(error?.message.contains(text) == true, "\(text): \(error?.message ?? "")")
        }
    }
}
