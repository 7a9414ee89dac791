// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct FaultTests {
    /// The outcomes of requests in turn: whether each failed.
    private func outcomes(_ count: Int, percent: Double, seed: UInt64) async throws -> [Bool] {
        let error = HTTPDNSClientError(code: .connectionLost, phase: .body, message: "planned")
        return try await withAnswer(.text("x").failing(percent: percent, seed: seed, with: error)) { client in
            var outcomes: [Bool] = []
            for _ in 0..<count {
                do {
                    outcomes.append(try await client.get("https://shop.test/").wholeText() != "x")
                } catch let error as HTTPDNSClientError {
                    #expect(error.code == .connectionLost)
                    outcomes.append(true)
                }
            }
            return outcomes
        }
    }

    @Test("A share of 20 % fails 200 of 1,000 requests, 40 more or less", arguments: [1, 2, 0xdead_beef] as [UInt64])
    func share(seed: UInt64) async throws {
        let failed = try await outcomes(1000, percent: 20, seed: seed).count { $0 }
        #expect((160...240).contains(failed), "\(failed)")
    }

    @Test("The same seed fails the same requests, and another one others")
    func seeds() async throws {
        let first = try await outcomes(100, percent: 50, seed: 7)
        #expect(try await outcomes(100, percent: 50, seed: 7) == first)
        #expect(try await outcomes(100, percent: 50, seed: 8) != first)
    }

    @Test("A share of 0 fails no request, and one of 100 all", arguments: [(-1.0, 0), (0, 0), (100, 50), (200, 50)])
    func limits(percent: Double, failed: Int) async throws {
        #expect(try await outcomes(50, percent: percent, seed: 3).count { $0 } == failed)
    }
}
