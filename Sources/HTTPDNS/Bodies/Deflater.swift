// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSZlib
internal import HTTPDNSCurl

/// zlib's compressor. It takes bytes piece by piece, and returns output when it has enough. Its memory is bounded (256
/// KiB).
final class Deflater {
    /// An error of zlib.
    struct Fault: Error, Hashable, CustomStringConvertible {
        /// The error number of zlib.
        let number: Int32

        var description: String {
            number == Z_MEM_ERROR ? "there is no memory for compressing" : "zlib failed with \(number)"
        }
    }

    /// The maximum output of one call.
    private static let portion = 64 * 1024
    /// The maximum input of one call, far below the 32-bit counters of zlib.
    private static let inputPortion = 1 << 20

    // The address of the stream is part of its state.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether all output has been returned.
    private(set) var isFinished = false

    /// - Throws: ``Fault``.
    init(_ coding: HTTPDNSClient.ContentCoding) throws(Fault) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Level and memory are zlib's own defaults.
        let status = chttpdnszlib_deflate_init(stream, Z_DEFAULT_COMPRESSION, coding.windowBits, 8)
        guard status == Z_OK else {
            stream.deallocate()
            throw Fault(number: status)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Removes at least one byte from the front of `input`.
    /// - Returns: The output so far, which may be empty.
    /// - Throws: ``Fault``.
    func add(_ input: inout ArraySlice<UInt8>) throws(Fault) -> [UInt8] {
        let portion = input.prefix(Deflater.inputPortion)
        let (output, taken) = try run(portion, Z_NO_FLUSH)
        input = input.dropFirst(taken)
        return output
    }

    /// Ends the input. Call it until ``isFinished``.
    /// - Throws: ``Fault``.
    func finish() throws(Fault) -> [UInt8] { try run([], Z_FINISH).output }

    private func run(_ input: ArraySlice<UInt8>, _ flush: Int32) throws(Fault) -> (output: [UInt8], taken: Int) {
        var status = Z_OK
        var taken = 0
        let output = [UInt8](unsafeUninitializedCapacity: Deflater.portion) { room, initialized in
            input.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = room.baseAddress
                stream.pointee.avail_out = UInt32(Deflater.portion)
                status = deflate(stream, flush)
                taken = input.count - Int(stream.pointee.avail_in)
                initialized = Deflater.portion - Int(stream.pointee.avail_out)
                // Neither pointer outlives the call.
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
            }
        }
        if status == Z_STREAM_END { isFinished = true }
        guard status == Z_OK || status == Z_STREAM_END else { throw Fault(number: status) }
        return (output, taken)
    }
}

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
