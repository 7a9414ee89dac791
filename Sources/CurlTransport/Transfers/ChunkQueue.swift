/// Chunks of a body in order. Nearly always it holds one; the array is shifted only when it has been emptied.
struct ChunkQueue {
    private var chunks: [[UInt8]] = []
    private var head = 0
    /// The bytes of all chunks.
    private(set) var bytes = 0

    var isEmpty: Bool { head == chunks.count }

    mutating func append(_ chunk: [UInt8]) {
        bytes += chunk.count
        chunks.append(chunk)
    }

    mutating func popFirst() -> [UInt8]? {
        guard head < chunks.count else { return nil }
        let chunk = chunks[head]
        // The chunk belongs to the taker alone from here on.
        chunks[head] = []
        head += 1
        bytes -= chunk.count
        if head == chunks.count {
            chunks.removeAll(keepingCapacity: chunks.count <= 64)
            head = 0
        }
        return chunk
    }

    mutating func removeAll() {
        self = ChunkQueue()
    }
}
