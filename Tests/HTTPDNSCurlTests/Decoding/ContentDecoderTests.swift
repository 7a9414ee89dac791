// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// The decoder alone, without a transfer.
struct ContentDecoderTests {
    /// Codings as in a `Content-Encoding` field; `raw` is deflate without zlib's header.
    static let chains = [
        "gzip", "deflate", "raw", "br", "zstd", "gzip,br", "br,zstd", "zstd,gzip", "deflate,br",
        "zstd,deflate,br,gzip,zstd",
    ]

    private static let text = ContentEncoder.text(4096)

    /// Decodes a body that arrives in pieces.
    private func decoded(
        _ body: [UInt8],
        _ codings: String,
        pieces: Int = 64 * 1024,
        libraries: CodingLibraries = .system,
        limit: Int? = nil
    ) throws(TransferFailure) -> [UInt8] {
        let value = codings.replacing("raw", with: "deflate")
        let decoder = ContentDecoder(
            DeclaredCodings([.contentEncoding: value]),
            libraries: libraries,
            limit: limit
        )
        var bytes: [UInt8] = []
        // One expectation for all pieces: millions of them would take minutes.
        var isRight = true
        defer { #expect(isRight) }
        for start in stride(from: 0, to: body.count, by: pieces) {
            try decoder.add(Array(body[start..<min(start + pieces, body.count)]))
            while !decoder.needsInput {
                guard let chunk = try decoder.next() else { continue }
                isRight = isRight && !chunk.isEmpty && chunk.count <= ContentDecoder.maximumChunk
                bytes += chunk
            }
        }
        try decoder.finish()
        #expect(decoder.decodedBytes == bytes.count)
        return bytes
    }

    /// The tools of the same names are the source.
    @Test("A body is decoded whole, in whatever pieces it arrives", arguments: chains)
    func whole(codings: String) throws {
        for (text, sizes) in [(Self.text, [1, 2, 3, 100]), (ContentEncoder.text(3_000_000), [5000, 64 * 1024])] {
            let body = try ContentEncoder.encoded(text, codings)
            for pieces in sizes { #expect(try decoded(body, codings, pieces: pieces) == text, "\(pieces)") }
        }
        #expect(try decoded([], codings) == [])
        let none = try ContentEncoder.encoded([], codings)
        #expect(try decoded(none, codings) == [])
    }

    @Test("A body of 4 KiB that ends at any earlier byte is never taken for whole", arguments: chains)
    func truncated(codings: String) throws {
        let body = try ContentEncoder.encoded(Self.text, codings)
        // Bytewise, every cut would take minutes.
        for (pieces, step) in [(64 * 1024, 1), (1, 61)] {
            for count in stride(from: 1, to: body.count, by: step) {
                let failure = #expect(throws: TransferFailure.self, "\(count) of \(body.count)") {
                    try decoded(Array(body.prefix(count)), codings, pieces: pieces)
                }
                #expect(failure?.code == .undecodable && failure?.message.contains("ends in the middle") == true)
            }
        }
    }

    /// Of deflate without a header up to four bytes may follow: servers send zlib's checksum there.
    @Test("Bytes after the end of the coding are an error", arguments: chains)
    func trailing(codings: String) throws {
        let body = try ContentEncoder.encoded(Self.text, codings)
        for pieces in [1, 64 * 1024] {
            let failure = #expect(throws: TransferFailure.self) {
                try decoded(body + Array("garbage".utf8), codings, pieces: pieces)
            }
            #expect(failure?.code == .undecodable && failure?.message.contains("continues after the end") == true)
        }
    }

    /// A checksum finds changed bytes in gzip and zlib; the others need not notice.
    @Test("A changed byte makes no decoder fail otherwise than by its typed error", arguments: chains)
    func changed(codings: String) throws {
        let body = try ContentEncoder.encoded(Self.text, codings)
        for index in body.indices {
            var changed = body
            changed[index] ^= 0x55
            do throws(TransferFailure) {
                let bytes = try decoded(changed, codings, limit: 1 << 20)
                if codings == "gzip" || codings == "deflate" { #expect(bytes == Self.text) }
            } catch {
                #expect(error.code == .undecodable || error.code == .responseTooLarge, "\(error)")
            }
        }
    }

    @Test("The inputs of the fuzzer are decoded equally in any pieces")
    func corpus() throws {
        let chains = [
            "gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "br, zstd, gzip", "identity", "zip",
        ]
        let inputs = try Repository.corpus("decoding")
        #expect(inputs.count >= 15)
        for (name, bytes) in inputs {
            let chain = chains[Int(try #require(bytes.first)) % chains.count]
            let outcomes = [1, 3, 64 * 1024].map { pieces in
                try? decoded(Array(bytes.dropFirst()), chain, pieces: pieces, limit: 1 << 20)
            }
            #expect(Set(outcomes).count == 1, "\(name)")
            let isRefused = ["gzip-cut", "br-trailing", "zstd-zeros", "unknown"].contains(name)
            #expect((outcomes[0] == nil) == isRefused, "\(name)")
        }
    }

    @Test("Members of gzip and frames of zstd follow each other", arguments: ["gzip", "zstd"])
    func members(coding: String) throws {
        let body = try ContentEncoder.encoded(Self.text, coding)
        #expect(try decoded(body + body + body, coding, pieces: 7) == Self.text + Self.text + Self.text)
    }

    @Test(
        "Names are read without case, and a list may be in several fields",
        arguments: [
            (["gzip"], [.gzip]), (["X-GZip , DEFLATE"], [.gzip, .deflate]), (["gzip", "br"], [.gzip, .brotli]),
            (["identity, zstd,"], [.zstandard]), (["none"], []), ([" "], []), (["Zip"], [.unknown]),
        ] as [([String], [DeclaredCodings.Coding])]
    )
    func names(values: [String], codings: [DeclaredCodings.Coding]) {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentEncoding, value: value)) }
        #expect(DeclaredCodings(fields).codings == codings)
    }

    @Test("Five codings are decoded, and six are refused before a byte is")
    func tooMany() throws {
        let body = try ContentEncoder.encoded(Self.text, "gzip,gzip,gzip,gzip,gzip")
        #expect(try decoded(body, "gzip,gzip,gzip,gzip,gzip") == Self.text)
        let failure = #expect(throws: TransferFailure.self) { try decoded(body, "gzip,gzip,gzip,gzip,gzip,gzip") }
        #expect(failure?.code == .undecodable && failure?.message.contains("more than 5") == true)
    }

    @Test("A coding whose library is absent is neither offered nor decoded", arguments: ["br", "zstd"])
    func absent(coding: String) throws {
        let name = "libhttpdns-no-such-library.so.1"
        let libraries = coding == "br" ? CodingLibraries(brotli: name) : CodingLibraries(zstandard: name)
        #expect(CodingLibraries.system.acceptEncoding == "deflate, gzip, br, zstd")
        #expect(libraries.acceptEncoding == "deflate, gzip, \(coding == "br" ? "zstd" : "br")")
        let body = try ContentEncoder.encoded(Self.text, coding)
        let failure = #expect(throws: TransferFailure.self) { try decoded(body, coding, libraries: libraries) }
        #expect(failure?.code == .undecodable && failure?.message.contains("coding \(coding)") == true)
        #expect(try decoded([], coding, libraries: libraries) == [])
    }

    /// libc has none of their functions.
    @Test("A library without the functions counts as absent")
    func otherLibrary() {
        let libraries = CodingLibraries(brotli: "libc.so.6", zstandard: "libc.so.6")
        #expect(libraries.acceptEncoding == "deflate, gzip")
    }

    @Test("A bomb ends at the limit, and without one at its ratio", arguments: ["gzip", "deflate", "br", "zstd"])
    func bomb(coding: String) throws {
        let body = try ContentEncoder.encoded(Array(repeating: 0, count: 32 << 20), coding)
        for limit in [1 << 20, nil] {
            let decoder = ContentDecoder(DeclaredCodings([.contentEncoding: coding]), limit: limit)
            try decoder.add(body)
            var count = 0
            let failure = #expect(throws: TransferFailure.self) {
                while let chunk = try decoder.next() { count += chunk.count }
            }
            #expect(failure?.code == .responseTooLarge)
            #expect(count <= max(1 << 20, limit == nil ? body.count * 201 : 0), "\(count)")
        }
        #expect(try decoded(body, coding, limit: 32 << 20).count == 32 << 20)
    }

    /// gzip ignores zeros after its last member. Without a limit between the codings one call would decode all of them.
    @Test("Bytes between codings that decode to nothing end at the limit and at the ratio", arguments: [1 << 20, nil])
    func intermediateBomb(limit: Int?) throws {
        let member = try ContentEncoder.encoded(Array("hello".utf8), "gzip")
        let body = try ContentEncoder.encoded(member + Array(repeating: 0, count: 64 << 20), "zstd,zstd")
        let decoder = ContentDecoder(DeclaredCodings([.contentEncoding: "gzip, zstd, zstd"]), limit: limit)
        try decoder.add(body)
        var bytes: [UInt8] = []
        let failure = #expect(throws: TransferFailure.self) {
            while !decoder.needsInput { bytes += try decoder.next() ?? [] }
        }
        #expect(failure?.code == .responseTooLarge && bytes == Array("hello".utf8), "\(body.count) bytes")
        #expect(decoder.intermediateBytes < 4 << 20, "\(decoder.intermediateBytes)")
    }

    /// The reader's task can be canceled between two calls.
    @Test("One call decodes at most 1 MiB between the codings, and the next one continues")
    func interrupted() throws {
        let member = try ContentEncoder.encoded(Array("hello".utf8), "gzip")
        let body = try ContentEncoder.encoded(member + Array(repeating: 0, count: 16 << 20), "zstd,zstd")
        let decoder = ContentDecoder(DeclaredCodings([.contentEncoding: "gzip, zstd, zstd"]), limit: 1 << 40)
        try decoder.add(body)
        var bytes: [UInt8] = []
        var calls = 0
        while !decoder.needsInput {
            let before = decoder.intermediateBytes
            bytes += try decoder.next() ?? []
            // A buffer between two codings has 16 KiB.
            #expect(decoder.intermediateBytes - before <= ContentDecoder.maximumWork + 32 * 1024)
            calls += 1
        }
        try decoder.finish()
        #expect(bytes == Array("hello".utf8) && calls >= 15)
    }

    @Test("Each limit has an encoded length, the largest included")
    func codedLimit() {
        #expect(ContentDecoder.codedLimit(1000) == 2000 + ContentDecoder.maximumChunk)
        for limit in [Int.max, .max - 1, .max / 2, .max / 2 - 1000] {
            #expect(ContentDecoder.codedLimit(limit) == .max)
        }
    }

    /// RFC 9659 section 3. The frame's window is 16 MiB, and its block one byte.
    @Test("A zstd window above 8 MiB is refused")
    func window() throws {
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 14 << 3, 9, 0, 0, 1]
        #expect(throws: TransferFailure.self) { try decoded(frame, "zstd") }
        var allowed = frame
        allowed[5] = 13 << 3
        #expect(try decoded(allowed, "zstd") == [1])
    }

    /// libzstd also decodes frames of its versions before 0.8, with windows up to 128 MiB. Its own limit does not apply to them.
    @Test("A zstd frame of an older format is refused, and skippable frames are skipped")
    func frames() throws {
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3, 9, 0, 0, 1]
        // Version 0.7: a window of 128 MiB, a raw block of one byte, and the end.
        let old: [UInt8] = [0x27, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 0x40, 0, 1, 7, 0xc0, 0, 0]
        for pieces in [1, 64] {
            for (body, text) in [(old, "Zstandard"), (frame + old, "continues after the end")] {
                let failure = #expect(throws: TransferFailure.self) { try decoded(body, "zstd", pieces: pieces) }
                #expect(failure?.code == .undecodable && failure?.message.contains(text) == true)
            }
            for number in UInt8(0x50)...0x5f {
                let skipped: [UInt8] = [number, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
                #expect(try decoded(skipped + frame + skipped + frame, "zstd", pieces: pieces) == [1, 1])
            }
        }
    }
}
