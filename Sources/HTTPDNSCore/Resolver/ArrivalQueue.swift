/// A queue in the order of arrival, with removal from the middle. It contains each element at most once.
struct ArrivalQueue<Element: Hashable & Sendable>: Sendable {
    private var order: [Element] = []
    private var members: Set<Element> = []
    private var head = 0

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }

    /// The earliest of the remaining elements.
    var first: Element? { order[head...].first(where: members.contains) }

    mutating func append(_ element: Element) {
        order.append(element)
        members.insert(element)
    }

    mutating func popFirst() -> Element? {
        while head < order.count {
            let element = order[head]
            head += 1
            compact()
            if members.remove(element) != nil { return element }
        }
        return nil
    }

    /// Removes an element.
    /// - Returns: Whether it was in the queue.
    @discardableResult
    mutating func remove(_ element: Element) -> Bool {
        defer { compact() }
        return members.remove(element) != nil
    }

    /// Compacts `order`, in which removed elements stay until they outnumber the others.
    ///
    /// So every operation takes amortized constant time, and the memory stays in proportion to the members.
    private mutating func compact() {
        guard order.count > 2 * members.count + 16 else { return }
        order = order[head...].filter(members.contains)
        head = 0
    }
}
