// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The functions of libbrotlidec (brotli/decode.h) that decoding needs.
struct BrotliLibrary: Sendable {
    /// `BrotliDecoderCreateInstance`, with no allocator of our own.
    typealias Create =
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> OpaquePointer?
    typealias Destroy = @convention(c) (OpaquePointer) -> Void
    /// `BrotliDecoderDecompressStream`. Its result is a `BrotliDecoderResult`.
    typealias Decompress =
        @convention(c) (
            OpaquePointer, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>,
            UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>?
        ) -> Int32
    typealias ErrorCode = @convention(c) (OpaquePointer) -> Int32
    typealias ErrorText = @convention(c) (Int32) -> UnsafePointer<CChar>?

    let create: Create
    let destroy: Destroy
    let decompress: Decompress
    let errorCode: ErrorCode
    let errorText: ErrorText

    init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        create = try library.function("BrotliDecoderCreateInstance")
        destroy = try library.function("BrotliDecoderDestroyInstance")
        decompress = try library.function("BrotliDecoderDecompressStream")
        errorCode = try library.function("BrotliDecoderGetErrorCode")
        errorText = try library.function("BrotliDecoderErrorString")
    }
}

/// A decompressor for Brotli (RFC 7932). Its window has at most 16 MiB.
final class BrotliDecoder: CodingDecoder {
    /// The results of `BrotliDecoderDecompressStream` (brotli/decode.h).
    private enum Status {
        static let failed: Int32 = 0
        static let ended: Int32 = 1
    }

    private let library: BrotliLibrary
    private let state: OpaquePointer
    private(set) var isAtEnd = false

    /// - Throws: ``DecodingFault``.
    init(_ library: BrotliLibrary) throws(DecodingFault) {
        guard let state = library.create(nil, nil, nil) else { throw .noMemory }
        self.library = library
        self.state = state
    }

    deinit { library.destroy(state) }

    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        guard !isAtEnd else {
            guard input.isEmpty else { throw .continuesAfterEnd }
            return 0
        }
        var (available, free) = (input.count, output.count)
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var end = output.bindMemory(to: UInt8.self).baseAddress
        let status = library.decompress(state, &available, &next, &free, &end, nil)
        input = UnsafeRawBufferPointer(rebasing: input.suffix(available))
        if status == Status.failed {
            throw .corrupt(library.errorText(library.errorCode(state)).map { String(cString: $0) } ?? "no Brotli")
        }
        isAtEnd = status == Status.ended
        return output.count - free
    }
}
