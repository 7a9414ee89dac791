// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A search for one text in a stream of chunks, and its replacement (Knuth, Morris and Pratt).
///
/// The bytes that may begin an occurrence are the first ones of the text itself, so that only their number is kept.
struct ByteReplacement: Sendable {
    private let text: [UInt8]
    private let replacement: [UInt8]
    /// For each number of matched bytes, the largest smaller number that is matched as well.
    private let shorter: [Int]
    /// The number of bytes of the text that the stream ends with so far.
    private var matched = 0

    /// The number of bytes after which a chunk is passed on, even if input is left. Replacements may be much longer than
    /// what they replace.
    static let portion = 64 * 1024

    /// - Parameter text: The text to search for, not empty.
    init(of text: [UInt8], with replacement: [UInt8]) {
        self.text = text
        self.replacement = replacement
        var shorter = [Int](repeating: 0, count: text.count + 1)
        var length = 0
        for index in text.indices.dropFirst() {
            while length > 0, text[index] != text[length] { length = shorter[length] }
            if text[index] == text[length] { length += 1 }
            shorter[index + 1] = length
        }
        self.shorter = shorter
    }

    /// Reads bytes, and appends what they become.
    /// - Returns: The number of bytes read; less than all once the output has ``portion`` bytes.
    mutating func read(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            var index = 0
            while index < bytes.count, output.count < ByteReplacement.portion {
                if matched == 0 {
                    let skipped = ByteReplacement.distance(to: text[0], in: bytes, from: index)
                    output.append(contentsOf: bytes[index..<index + skipped])
                    index += skipped
                    guard index < bytes.count else { break }
                }
                while matched > 0, bytes[index] != text[matched] {
                    let fewer = shorter[matched]
                    output.append(contentsOf: text[..<(matched - fewer)])
                    matched = fewer
                }
                if bytes[index] == text[matched] { matched += 1 } else { output.append(bytes[index]) }
                index += 1
                if matched == text.count {
                    output.append(contentsOf: replacement)
                    matched = 0
                }
            }
            return index
        }
    }

    /// Returns the bytes that are left at the end of the stream.
    mutating func finish() -> [UInt8] {
        defer { matched = 0 }
        return Array(text[..<matched])
    }

    /// Returns the number of bytes before the next equal one, or before the end.
    private static func distance(to byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
        guard let start = bytes.baseAddress else { return 0 }
        let count = bytes.count - index
        guard let found = memchr(start + index, Int32(byte), count) else { return count }
        return UnsafeRawPointer(start + index).distance(to: UnsafeRawPointer(found))
    }
}

/// The chunks of a body with a text replaced.
struct ReplacedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: HTTPDNSClient.Response.Body
    let replacement: ByteReplacement

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HTTPDNSClient.Response.Body.AsyncIterator
        var replacement: ByteReplacement
        /// The bytes that are not read yet.
        var rest: ArraySlice<UInt8> = []
        var isAtEnd = false

        mutating func next() async throws -> [UInt8]? {
            var output: [UInt8] = []
            while output.isEmpty, !isAtEnd {
                if rest.isEmpty {
                    guard let chunk = try await base.next() else {
                        isAtEnd = true
                        output = replacement.finish()
                        break
                    }
                    rest = chunk[...]
                }
                rest = rest.dropFirst(replacement.read(rest, into: &output))
            }
            return output.isEmpty ? nil : output
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), replacement: replacement)
    }
}
