// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A count of the tasks that are inside a piece of code.
package final class Occupancy: Sendable {
    private let counts = Lock((now: 0, most: 0, all: 0))

    package init() {}

    /// The largest number that was inside at the same time.
    package var most: Int { counts.withLock { $0.most } }

    /// The number of entries so far.
    package var all: Int { counts.withLock { $0.all } }

    package func enter() {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
            counts.all += 1
        }
    }

    package func leave() { counts.withLock { $0.now -= 1 } }
}
