// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Compressors for test bodies, from the libraries that libcurl depends on: a decoder is not tested against an encoder of its own.
package enum ContentEncoder {
    /// An error of a library.
    package struct Failure: Error { let text: String }

    /// Returns bytes in content codings, in the order of a `Content-Encoding` field. `raw` is deflate without zlib's header.
    /// - Parameter codings: Names that are separated by commas: gzip, deflate, raw, br, zstd.
    package static func encoded(_ bytes: [UInt8], _ codings: String) throws -> [UInt8] {
        try codings.split(separator: ",").reduce(bytes) { bytes, coding in
            switch coding.drop(while: { $0 == " " }) {
            case "gzip", "x-gzip": try gzip(bytes)
            case "deflate": try zlib(bytes)
            case "raw": try Array(zlib(bytes).dropFirst(2).dropLast(4))
            case "br": try brotli(bytes)
            case "zstd": try zstandard(bytes)
            default: throw Failure(text: "no encoder for \(coding)")
            }
        }
    }

    /// Text of this length that shrinks to about a third.
    package static func text(_ count: Int) -> [UInt8] {
        var text: [UInt8] = []
        var number: UInt64 = 1
        while text.count < count {
            // Knuth's generator: the text is the same in each run.
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            text += "line \(text.count) of a body: \(number >> 44)\n".utf8
        }
        return Array(text.prefix(count))
    }

    /// RFC 1952: a head without options, deflate, CRC and length.
    private static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        typealias Checksum = @convention(c) (UInt, UnsafePointer<UInt8>?, UInt32) -> UInt
        let checksum = try function("crc32", of: "libz.so.1", as: Checksum.self)(0, bytes, UInt32(bytes.count))
        let end = [UInt32(truncatingIfNeeded: checksum), UInt32(bytes.count)].flatMap { number in
            (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
        }
        return try [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] + zlib(bytes).dropFirst(2).dropLast(4) + end
    }

    private static func zlib(_ bytes: [UInt8]) throws -> [UInt8] {
        typealias Compress =
            @convention(c) (
                UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>, UnsafePointer<UInt8>?, UInt, Int32
            )
            -> Int32
        let compress = try function("compress2", of: "libz.so.1", as: Compress.self)
        return try filled(bytes) { output, input in
            var count = UInt(output.count)
            return compress(output.baseAddress, &count, input.baseAddress, UInt(input.count), 6) == 0 ? Int(count) : nil
        }
    }

    private static func brotli(_ bytes: [UInt8]) throws -> [UInt8] {
        // Quality, window, mode, input, output.
        typealias Compress =
            @convention(c) (
                Int32, Int32, Int32, Int, UnsafePointer<UInt8>?, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UInt8>?
            ) -> Int32
        let compress = try function("BrotliEncoderCompress", of: "libbrotlienc.so.1", as: Compress.self)
        return try filled(bytes) { output, input in
            var count = output.count
            return compress(5, 22, 0, input.count, input.baseAddress, &count, output.baseAddress) == 1 ? count : nil
        }
    }

    private static func zstandard(_ bytes: [UInt8]) throws -> [UInt8] {
        typealias Compress =
            @convention(c) (UnsafeMutablePointer<UInt8>?, Int, UnsafePointer<UInt8>?, Int, Int32) -> Int
        let compress = try function("ZSTD_compress", of: "libzstd.so.1", as: Compress.self)
        return try filled(bytes) { output, input in
            let count = compress(output.baseAddress, output.count, input.baseAddress, input.count, 3)
            // An error is a number near the largest.
            return (0...output.count).contains(count) ? count : nil
        }
    }

    /// Returns what `fill` writes for `bytes`, with room for bytes that do not shrink.
    private static func filled(
        _ bytes: [UInt8],
        _ fill: (UnsafeMutableBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Int?
    ) throws -> [UInt8] {
        var count: Int?
        let output = [UInt8](unsafeUninitializedCapacity: bytes.count + bytes.count / 8 + 1024) { output, initialized in
            count = bytes.withUnsafeBufferPointer { fill(output, $0) }
            initialized = count ?? 0
        }
        guard count != nil else { throw Failure(text: "the bytes could not be compressed") }
        return output
    }

    private static func function<Function>(_ name: String, of library: String, as type: Function.Type) throws
        -> Function
    {
        guard let handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), let address = dlsym(handle, name) else {
            throw Failure(text: "\(library) has no \(name), or is missing")
        }
        return unsafeBitCast(address, to: type)
    }
}
