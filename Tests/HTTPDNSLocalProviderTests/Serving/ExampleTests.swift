// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPDNSCore
import HTTPDNSPrimitives
import LocalProviderExample
import Testing

extension OverTheNetwork {
    struct ExampleTests {
        @Test("The documentation's program does what it says")
        func resolves() async throws {
            #expect(try await resolvedLocally("img.shop.test").endpoints.map { "\($0.address)" } == ["203.0.113.7"])
            await #expect(throws: (any Error).self) { try await resolvedLocally("gone.test") }
        }
    }
}
#endif
