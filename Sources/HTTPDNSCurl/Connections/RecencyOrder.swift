/// The order of the last uses of slots, as a doubly linked list over slot numbers: every operation is O(1).
struct RecencyOrder {
    private struct Links {
        var newer = -1
        var older = -1
        var isListed = false
    }

    private var links: [Links] = []
    private var newest = -1
    /// The least recently used slot; `nil` when none is listed.
    var oldest: Int? { end < 0 ? nil : end }
    private var end = -1
    private(set) var count = 0

    func contains(_ slot: Int) -> Bool { slot < links.count && links[slot].isListed }

    /// Makes `slot` the newest, whether or not it was listed.
    mutating func touch(_ slot: Int) {
        if newest == slot { return }
        remove(slot)
        while links.count <= slot { links.append(Links()) }
        links[slot] = Links(newer: -1, older: newest, isListed: true)
        if newest >= 0 { links[newest].newer = slot } else { end = slot }
        newest = slot
        count += 1
    }

    /// Removes `slot`; without effect if it is not listed.
    mutating func remove(_ slot: Int) {
        guard contains(slot) else { return }
        let link = links[slot]
        if link.newer >= 0 { links[link.newer].older = link.older } else { newest = link.older }
        if link.older >= 0 { links[link.older].newer = link.newer } else { end = link.newer }
        links[slot] = Links()
        count -= 1
    }
}
