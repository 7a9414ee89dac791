// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A list that several tasks write.
package final class Journal<Entry: Sendable>: Sendable {
    private let entries = Lock<[Entry]>([])

    package init() {}

    /// The entries, in order.
    package var all: [Entry] { entries.withLock { $0 } }

    package func write(_ entry: Entry) { entries.withLock { $0.append(entry) } }
}
