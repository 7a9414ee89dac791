// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct SharedLoopStateTests {
    /// Each read of the handler once put two thunks around it, so that a client whose loops had failed often enough crashed.
    @Test("Each failure of a loop is reported with the same depth of the stack")
    func failures() {
        var configuration = TransportConfiguration()
        configuration.loops = 2
        let state = SharedLoopState(configuration)
        let places = Lock<[Int]>([])
        state.onFailure { loop, _ in
            var place = loop
            let address = withUnsafePointer(to: &place) { Int(bitPattern: $0) }
            places.withLock { $0.append(address) }
        }
        for _ in 0..<1_000 { state.loopFailed(1, isStarted: true) }
        let seen = places.withLock { $0 }
        #expect(seen.count == 1_000 && Set(seen).count == 1)
    }
}
