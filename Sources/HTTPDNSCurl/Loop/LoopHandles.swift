// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The easy handles of a loop: those in libcurl, and those that are kept for later transfers.
struct LoopHandles {
    /// The maximum number of kept handles; one costs 5 KiB.
    private static let maximumSpares = 256

    /// The handles that libcurl has; it holds only pointers to them.
    private(set) var active: [EasyHandle] = []
    private var spares: [EasyHandle] = []

    /// - Returns: A handle without a transfer; `nil` when libcurl gives none.
    mutating func take(for loop: TransportLoop) -> EasyHandle? { spares.popLast() ?? EasyHandle(loop: loop) }

    mutating func insert(_ handle: EasyHandle) {
        handle.activeIndex = active.count
        active.append(handle)
    }

    mutating func remove(_ handle: EasyHandle) {
        let last = active.removeLast()
        if last !== handle {
            active[handle.activeIndex] = last
            last.activeIndex = handle.activeIndex
        }
        handle.activeIndex = -1
    }

    /// Keeps a handle for a later transfer, if there is room.
    mutating func keep(_ handle: EasyHandle) {
        if spares.count < LoopHandles.maximumSpares { spares.append(handle) }
    }

    mutating func removeSpares() { spares.removeAll() }
}
