// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
/// The queries whose replies are awaited, oldest first, up to a limit. A value.
struct WaitingQueries<Element> {
    let limit: Int
    private var open: [UInt64: Element] = [:]
    /// Every open number is from this one on.
    private var oldest: UInt64 = 0
    private var next: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Returns the number for a new element.
    mutating func draw() -> UInt64 {
        defer { next += 1 }
        return next
    }

    /// Adds an element.
    /// - Returns: The oldest one, which makes room for it.
    mutating func add(_ element: Element, as number: UInt64) -> Element? {
        var dropped: Element?
        if open.count == limit {
            while dropped == nil {
                dropped = open.removeValue(forKey: oldest)
                oldest += 1
            }
        }
        open[number] = element
        return dropped
    }

    /// Returns the element, which waits no longer; nil when it does not.
    mutating func remove(_ number: UInt64) -> Element? { open.removeValue(forKey: number) }

    /// Returns all elements, of which none waits any longer.
    mutating func removeAll() -> [Element] {
        defer { open = [:] }
        return Array(open.values)
    }
}
#endif
