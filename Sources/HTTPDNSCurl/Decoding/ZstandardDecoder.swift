// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The functions of libzstd (zstd.h) that decoding needs. All of them are in its stable part.
struct ZstandardLibrary: Sendable {
    typealias Create = @convention(c) () -> OpaquePointer?
    typealias Destroy = @convention(c) (OpaquePointer) -> Int
    /// `ZSTD_DCtx_setParameter` with a `ZSTD_dParameter`.
    typealias SetParameter = @convention(c) (OpaquePointer, Int32, Int32) -> Int
    /// `ZSTD_decompressStream` with a `ZSTD_outBuffer` and a `ZSTD_inBuffer`.
    typealias Decompress = @convention(c) (OpaquePointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int
    typealias IsError = @convention(c) (Int) -> UInt32
    typealias ErrorText = @convention(c) (Int) -> UnsafePointer<CChar>?

    let create: Create
    let destroy: Destroy
    let setParameter: SetParameter
    let decompress: Decompress
    let isError: IsError
    let errorText: ErrorText

    init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        create = try library.function("ZSTD_createDStream")
        destroy = try library.function("ZSTD_freeDStream")
        setParameter = try library.function("ZSTD_DCtx_setParameter")
        decompress = try library.function("ZSTD_decompressStream")
        isError = try library.function("ZSTD_isError")
        errorText = try library.function("ZSTD_getErrorName")
    }
}

/// A decompressor for Zstandard (RFC 8878), also of several frames.
///
/// libzstd also decodes the formats of its versions before 0.8, to which the limit of the window does not apply. They are no
/// Zstandard of RFC 8878, so the start of each frame is checked here.
final class ZstandardDecoder: CodingDecoder {
    /// `ZSTD_inBuffer` and `ZSTD_outBuffer`: an address, and two `size_t`.
    private struct Buffer {
        var address: UnsafeRawPointer?
        var size: Int
        var position = 0
    }

    /// `ZSTD_d_windowLogMax` (zstd.h).
    private static let windowLogMaximum: Int32 = 100
    /// The largest window of the content coding is 8 MiB (RFC 9659 section 3). libzstd's own limit is 128 MiB.
    private static let windowLog: Int32 = 23

    private let library: ZstandardLibrary
    private let stream: OpaquePointer
    private(set) var isAtEnd = false
    /// Whether a frame has ended, and the next one has no output yet.
    private var isBetweenFrames = false
    /// The bytes of the frame's magic number that libzstd has.
    private var magic: [UInt8] = []

    /// - Throws: ``DecodingFault``.
    init(_ library: ZstandardLibrary) throws(DecodingFault) {
        guard let stream = library.create() else { throw .noMemory }
        self.library = library
        self.stream = stream
        _ = library.setParameter(stream, ZstandardDecoder.windowLogMaximum, ZstandardDecoder.windowLog)
    }

    deinit { _ = library.destroy(stream) }

    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        var made = 0
        // A call without input after the end of a frame would begin the next frame.
        while made < output.count, !(input.isEmpty && isAtEnd) {
            let begun = magic.count
            if begun < 4 {
                magic += input.prefix(4 - begun)
                guard ZstandardDecoder.mayBeginFrame(magic) else {
                    if isBetweenFrames { throw .continuesAfterEnd }
                    throw .corrupt("no frame of Zstandard (RFC 8878)")
                }
            }
            var source = Buffer(address: input.baseAddress, size: input.count)
            var target = Buffer(address: UnsafeRawPointer(output.baseAddress), size: output.count, position: made)
            let hint = withUnsafeMutableBytes(of: &target) { target in
                withUnsafeMutableBytes(of: &source) { source -> Int in
                    guard let target = target.baseAddress, let source = source.baseAddress else { return 0 }
                    return library.decompress(stream, target, source)
                }
            }
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(source.position))
            magic.removeLast(max(0, magic.count - begun - source.position))
            if library.isError(hint) != 0 {
                if isBetweenFrames, target.position == made { throw .continuesAfterEnd }
                throw .corrupt(library.errorText(hint).map { String(cString: $0) } ?? "no Zstandard")
            }
            if target.position > made { isBetweenFrames = false }
            made = target.position
            isAtEnd = hint == 0
            if isAtEnd {
                isBetweenFrames = true
                magic = []
            }
            if input.isEmpty { break }
        }
        return made
    }

    /// Returns whether a frame may begin with at most four bytes: the magic number of Zstandard, or of a skippable frame (RFC 8878
    /// sections 3.1.1 and 3.1.2).
    private static func mayBeginFrame(_ start: [UInt8]) -> Bool {
        guard let first = start.first else { return true }
        let rest: [UInt8] = first == 0x28 ? [0xb5, 0x2f, 0xfd] : [0x2a, 0x4d, 0x18]
        return (first == 0x28 || 0x50...0x5f ~= first) && rest.starts(with: start.dropFirst())
    }
}
