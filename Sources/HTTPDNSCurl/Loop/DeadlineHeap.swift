/// An object with a deadline that knows its index in the heap, so that it can be removed.
protocol HeapMember: AnyObject {
    var heapIndex: Int { get set }
    /// The deadline in nanoseconds on the loop's clock. Only ``DeadlineHeap`` may change it while the member is in the heap.
    var heapKey: Int64 { get set }
}

/// A binary heap of deadlines with removal from the middle, so that a finished transfer leaves no entry.
struct DeadlineHeap<Member: HeapMember> {
    private var members: [Member] = []

    var first: Member? { members.first }
    var isEmpty: Bool { members.isEmpty }

    mutating func insert(_ member: Member, at key: Int64) {
        member.heapKey = key
        member.heapIndex = members.count
        members.append(member)
        siftUp(member.heapIndex)
    }

    mutating func move(_ member: Member, to key: Int64) {
        let index = member.heapIndex
        guard index >= 0 else { return insert(member, at: key) }
        let earlier = key < member.heapKey
        member.heapKey = key
        if earlier { siftUp(index) } else { siftDown(index) }
    }

    mutating func remove(_ member: Member) {
        let index = member.heapIndex
        guard index >= 0 else { return }
        let last = members.removeLast()
        member.heapIndex = -1
        guard last !== member else { return }
        members[index] = last
        last.heapIndex = index
        siftUp(index)
        siftDown(last.heapIndex)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard members[index].heapKey < members[parent].heapKey else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in (2 * index + 1)...(2 * index + 2)
            where child < members.count && members[child].heapKey < members[least].heapKey {
                least = child
            }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        members.swapAt(left, right)
        members[left].heapIndex = left
        members[right].heapIndex = right
    }
}
