/// A queue of body chunks. Nearly always it holds one, which needs no array.
struct ChunkQueue {
    /// The first chunk; empty when there is none.
    private var first: [UInt8] = []
    private var others: [[UInt8]] = []
    private var head = 0
    /// The number of bytes in all chunks.
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }
    var isOneAtMost: Bool { others.isEmpty }
    /// The number of array elements in use, including those of removed chunks.
    var placesKept: Int { others.count }

    /// Appends a chunk; an empty one is ignored.
    mutating func append(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else { return }
        if isEmpty { first = chunk } else { others.append(chunk) }
        bytes += chunk.count
    }

    mutating func popFirst() -> [UInt8]? {
        guard !isEmpty else { return nil }
        let chunk = first
        bytes -= chunk.count
        first = []
        guard head < others.count else { return chunk }
        first = others[head]
        // From here on only the caller owns the chunk.
        others[head] = []
        head += 1
        if head == others.count {
            others.removeAll(keepingCapacity: others.count <= 64)
            head = 0
        } else if head >= 64, head * 2 >= others.count {
            // A reader that never quite empties the queue must not leave an array as long as the body.
            others.removeFirst(head)
            head = 0
        }
        return chunk
    }

    mutating func removeAll() {
        self = ChunkQueue()
    }
}
