// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable import HTTPDNSCore

extension KnownAnswer {
    /// A provider's answer by no route.
    static func sample(
        _ addresses: [HTTPDNSAddress],
        sentAt: MonotonicTime,
        life: Duration,
        staleLimit: Duration = .zero
    ) -> KnownAnswer {
        let origin = AnswerOrigin(
            source: .provider,
            provider: "doh",
            providerScope: .public,
            route: nil,
            policy: HTTPDNSAddressPolicy(),
            staleLimit: staleLimit
        )
        return KnownAnswer(.addresses(addresses), origin: origin, sentAt: sentAt, life: life)
    }
}
