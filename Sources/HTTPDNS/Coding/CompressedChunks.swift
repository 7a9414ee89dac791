internal import HTTPDNSCurl

/// A stream's bytes in a content coding, compressed on demand in the reader's task.
struct CompressedChunks<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [UInt8] {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The minimum size of a chunk: a TLS record. The first output of zlib is ten bytes.
    private static var leastPortion: Int { 16 * 1024 }

    let base: Base
    let coding: HTTPDNSClient.ContentCoding
    /// The declared length of the stream; nil when it is unknown.
    let length: Int64?

    struct AsyncIterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        private let coding: HTTPDNSClient.ContentCoding
        private let length: Int64?
        private var deflater: Deflater?
        private var input: ArraySlice<UInt8> = []
        private var bytesRead: Int64 = 0
        private var isEnded = false

        fileprivate init(_ chunks: CompressedChunks) {
            base = chunks.base.makeAsyncIterator()
            coding = chunks.coding
            length = chunks.length
        }

        mutating func next() async throws -> [UInt8]? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            let deflater = try self.deflater ?? Deflater(coding)
            self.deflater = deflater
            var output: [UInt8] = []
            while !deflater.isFinished, output.count < CompressedChunks.leastPortion {
                if input.isEmpty, !isEnded {
                    let chunk = try await base.next(isolation: actor)
                    try note(chunk)
                    input = (chunk ?? [])[...]
                    isEnded = chunk == nil
                    continue
                }
                let portion = isEnded ? try deflater.finish() : try deflater.add(&input)
                if output.isEmpty { output = portion } else { output += portion }
            }
            return output.isEmpty ? nil : output
        }

        /// The transport cannot count these bytes, because it gets the compressed ones.
        private mutating func note(_ chunk: [UInt8]?) throws(DeclaredLengthMissed) {
            bytesRead += Int64(chunk?.count ?? 0)
            guard let length else { return }
            if bytesRead > length || chunk == nil && bytesRead < length {
                throw DeclaredLengthMissed(declared: length, read: bytesRead)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// The error of a stream whose length differs from the declared one.
struct DeclaredLengthMissed: Error, Hashable, Sendable, CustomStringConvertible {
    let declared: Int64
    let read: Int64

    var description: String {
        read > declared
            ? "the request body is longer than the \(declared) bytes declared"
            : "the request body ended after \(read) of the \(declared) bytes declared"
    }
}

extension RequestBodySource {
    /// Returns the bytes of a stream in a content coding. Their number is not known in advance.
    static func compressed(
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
        length: Int64?,
        _ coding: HTTPDNSClient.ContentCoding
    ) -> RequestBodySource {
        .stream(length: nil, CompressedChunks(base: chunks, coding: coding, length: length))
    }
}
