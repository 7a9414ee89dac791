/// Whether a server said of an HTTP/2 stream that it did nothing of it, so that even a POST may be sent again
/// (RFC 9113 section 8.7): it refused the stream, or it goes away and the stream came after the last one that it takes.
///
/// libcurl tells neither by a code, only in its trace (7.88: `http2.c`, `transfer.c`). What another stream of the same connection
/// was told, or libcurl says in words that are not known here, counts as nothing said.
struct StreamRefusal {
    private var stream: UInt32?
    private var lastTaken: UInt32?
    private var isRefused = false

    /// Whether nothing was done.
    var isCertain: Bool {
        if isRefused { return true }
        guard let stream, let lastTaken else { return false }
        return stream > lastTaken
    }

    /// Takes a line of the trace.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        if line.starts(with: "REFUSED_STREAM, retrying a fresh connect".utf8) {
            isRefused = true
        } else if let number = StreamRefusal.number(in: line, after: "Using Stream ID: ") {
            stream = number
        } else if line.starts(with: "recveived GOAWAY, ".utf8) || line.starts(with: "received GOAWAY, ".utf8) {
            // A server may first announce that it goes, then name the last stream.
            lastTaken = StreamRefusal.number(in: line, after: "last_stream=") ?? lastTaken
        }
    }

    /// The number behind a mark.
    private static func number(in line: UnsafeRawBufferPointer, after mark: StaticString) -> UInt32? {
        let mark = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
        guard line.count > mark.count else { return nil }
        for start in 0..<(line.count - mark.count) where line[start] == mark[0] {
            guard UnsafeRawBufferPointer(rebasing: line[start...]).starts(with: mark) else { continue }
            let digits = line[(start + mark.count)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return UInt32(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }
}
