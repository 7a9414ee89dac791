// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// Answers at once with two addresses for an hour, which the measured calls then find in the cache.
final class FixedProvider: HTTPDNSProvider {
    let name = "bench"
    let answerScope = HTTPDNSAddressPolicy.Scope.public

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        HTTPDNSProviderAnswer(
            v4: .addresses(CacheScenario.addresses, timeToLive: .seconds(3600), canonicalName: nil),
            v6: query.families.contains(.v6) ? .noData(timeToLive: .seconds(3600)) : nil
        )
    }

    func shutdown() async {}
}
