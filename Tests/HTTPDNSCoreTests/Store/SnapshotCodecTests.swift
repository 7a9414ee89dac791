// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct SnapshotCodecTests {
    private static func encode(_ resolutions: [HTTPDNSStoredResolution]) -> [UInt8] {
        SnapshotEncoder.encode(resolutions, maximumBytes: 1 << 20)
    }

    /// The same octets with header and checksum made right again.
    private static func mended(_ file: [UInt8], count: UInt32? = nil) -> [UInt8] {
        var file = file
        func put(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value.bigEndian) { file.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        if let count { put(count, at: 12) }
        put(UInt64(file.count - SnapshotFormat.headerOctets), at: 16)
        put(SnapshotFormat.checksum(of: file), at: SnapshotFormat.checksumOffset)
        return file
    }

    @Test("Every field comes back as it was written")
    func roundTrip() throws {
        let resolutions = try HTTPDNSStoredResolution.variety()
        #expect(try SnapshotDecoder.decode(Self.encode(resolutions)) == resolutions)
        #expect(try SnapshotDecoder.decode(Self.encode([])) == [])
    }

    @Test("The octets of version 1 are fixed")
    func golden() throws {
        var resolution = try HTTPDNSStoredResolution.sample(
            "a.test",
            receivedAt: 0x0102_0304_0506_0708,
            timeToLive: .seconds(1)
        )
        resolution.route = "r"
        resolution.provider = "pq"
        resolution.providerScope = .private
        resolution.canonicalName = try HTTPDNSName("b.test")
        resolution.clientSubnet = HTTPDNSAddressBlock("192.0.2.0/24")
        let body: [UInt8] =
            [1, 2, 3, 4, 5, 6, 7, 8] + [0, 0, 0, 0, 0x3b, 0x9a, 0xca, 0] + [1, 2]
            + [6] + Array("a.test".utf8) + [6] + Array("b.test".utf8) + [0, 1] + Array("r".utf8)
            + [0, 2] + Array("pq".utf8) + [4, 192, 0, 2, 0, 24] + [0, 1] + [4, 203, 0, 113, 7]
        let file = Self.encode([resolution])
        #expect(Array(file.dropFirst(28)) == body)
        #expect(
            Array(file.prefix(24)) == Array("httpdns\n".utf8) + [0, 0, 0, 1] + [0, 0, 0, 1]
                + [0, 0, 0, 0, 0, 0, 0, UInt8(body.count)]
        )
        var checksum = CRC32C()
        checksum.update((file.prefix(24) + body)[...])
        #expect(file[24..<28].reduce(0) { $0 << 8 | UInt32($1) } == checksum.value)
    }

    @Test("The smallest entry has the size that the reader assumes")
    func minimum() throws {
        var least = try HTTPDNSStoredResolution.sample("a")
        least.route = ""
        least.provider = ""
        let one = Self.encode([least])
        #expect(one.count == SnapshotFormat.headerOctets + SnapshotFormat.minimumEntryOctets)
        #expect(try SnapshotDecoder.decode(one) == [least])
    }

    @Test("A file cut off anywhere, or with an octet more, is refused")
    func truncations() throws {
        let file = Self.encode(try HTTPDNSStoredResolution.variety())
        var notCorrupt: [Int] = []
        for count in 0..<file.count {
            do throws(SnapshotFault) {
                _ = try SnapshotDecoder.decode(Array(file.prefix(count)))
                notCorrupt.append(count)
            } catch {
                guard case .corrupt = error else {
                    notCorrupt.append(count)
                    continue
                }
            }
        }
        #expect(notCorrupt == [])
        #expect(throws: SnapshotFault.self) { try SnapshotDecoder.decode(file + [0]) }
    }

    @Test("A file with any single bit flipped is refused")
    func bitFlips() throws {
        var file = Self.encode(try HTTPDNSStoredResolution.variety())
        var accepted: [Int] = []
        for bit in 0..<8 * file.count {
            file[bit / 8] ^= 1 << (bit % 8)
            if (try? SnapshotDecoder.decode(file)) != nil { accepted.append(bit) }
            file[bit / 8] ^= 1 << (bit % 8)
        }
        #expect(accepted.isEmpty, "\(accepted.count) bits, the first of them \(accepted.first ?? 0)")
        _ = try SnapshotDecoder.decode(file)
    }

    /// It never traps.
    @Test("With a right checksum a changed octet gives canonical answers or an error")
    func mendedChanges() throws {
        let good = Self.encode(try HTTPDNSStoredResolution.variety())
        var read = 0
        for offset in SnapshotFormat.headerOctets..<good.count {
            for value in [0, 1, 4, 6, 0x2e, 0x7f, 0x80, 0xff] as [UInt8] {
                var file = good
                file[offset] = value
                guard let resolutions = try? SnapshotDecoder.decode(Self.mended(file)) else { continue }
                read += 1
                #expect(try SnapshotDecoder.decode(Self.encode(resolutions)) == resolutions)
            }
        }
        #expect(read > 0)
    }

    @Test("A snapshot cut off with a right length and checksum is refused")
    func mendedTruncations() throws {
        let file = Self.encode(try HTTPDNSStoredResolution.variety())
        let accepted = (SnapshotFormat.headerOctets..<file.count).filter { count in
            (try? SnapshotDecoder.decode(Self.mended(Array(file.prefix(count))))) != nil
        }
        #expect(accepted == [])
    }

    @Test("An impossible count of entries is refused before memory is reserved", arguments: [0, 6, .max])
    func counts(count: UInt32) throws {
        let file = Self.encode(try HTTPDNSStoredResolution.variety())
        let fault = #expect(throws: SnapshotFault.self) { try SnapshotDecoder.decode(Self.mended(file, count: count)) }
        guard case .corrupt = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
    }

    @Test("Another format version is distinguished from another kind of file")
    func otherFiles() throws {
        var file = Self.encode(try HTTPDNSStoredResolution.variety())
        file[11] = 99
        #expect(throws: SnapshotFault.unsupportedVersion(99)) { try SnapshotDecoder.decode(file) }
        #expect(throws: SnapshotFault.foreign) { try SnapshotDecoder.decode(Array("127.0.0.1 localhost\n".utf8)) }
        #expect(throws: SnapshotFault.foreign) { try SnapshotDecoder.decode([UInt8](repeating: 0, count: 100)) }
    }

    /// An entry whose checksum is right, and one thing about it wrong.
    struct Nonsense: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let offset: Int
        let value: UInt8

        init(_ description: String, offset: Int, value: UInt8) {
            (testDescription, self.offset, self.value) = (description, offset, value)
        }
    }

    /// Offsets are those of the golden octets.
    @Test(
        "An invalid value in an entry is refused, whatever the checksum is",
        arguments: [
            Nonsense("no families", offset: 16, value: 0), Nonsense("a third family", offset: 16, value: 5),
            Nonsense("IPv6 asked for, IPv4 answered", offset: 16, value: 2),
            Nonsense("a scope that there is not", offset: 17, value: 5),
            Nonsense("an upper-case name", offset: 19, value: UInt8(ascii: "A")),
            Nonsense("a name with a space", offset: 19, value: UInt8(ascii: " ")),
            Nonsense("a name outside ASCII", offset: 19, value: 0xc3),
            Nonsense("a name with an empty label", offset: 19, value: UInt8(ascii: ".")),
            Nonsense("a route that is not UTF-8", offset: 34, value: 0xff),
            Nonsense("a subnet of no family", offset: 39, value: 5),
            Nonsense("a subnet with bits behind its prefix", offset: 44, value: 20),
            Nonsense("a subnet with too long a prefix", offset: 44, value: 33),
            Nonsense("no address", offset: 46, value: 0), Nonsense("an address of no family", offset: 47, value: 0),
        ]
    )
    func nonsense(_ nonsense: Nonsense) throws {
        var resolution = try HTTPDNSStoredResolution.sample("a.test")
        resolution.route = "r"
        resolution.provider = "pq"
        resolution.canonicalName = try HTTPDNSName("b.test")
        resolution.clientSubnet = HTTPDNSAddressBlock("192.0.8.0/24")
        var file = Self.encode([resolution])
        #expect(try SnapshotDecoder.decode(Self.mended(file)) == [resolution])
        file[SnapshotFormat.headerOctets + nonsense.offset] = nonsense.value
        let fault = #expect(throws: SnapshotFault.self) { try SnapshotDecoder.decode(Self.mended(file)) }
        guard case .corrupt = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
    }

    @Test("Answers that no snapshot may hold are omitted, and the others are written")
    func leftOut() throws {
        let good = try HTTPDNSStoredResolution.sample("good.test")
        var others = [
            try HTTPDNSStoredResolution.sample("no-address.test", addresses: []),
            try HTTPDNSStoredResolution.sample("no-family.test", families: []),
            try HTTPDNSStoredResolution.sample("third-family.test", families: HTTPDNSAddress.Families(rawValue: 5)),
            try HTTPDNSStoredResolution.sample("other-family.test", families: .v6),
            try HTTPDNSStoredResolution.sample(
                "many.test",
                addresses: Array(repeating: HTTPDNSAddress(v4: 192, 0, 2, 1), count: 65_536)
            ),
            try HTTPDNSStoredResolution.sample("route.test"), try HTTPDNSStoredResolution.sample("provider.test"),
        ]
        others[5].route = String(repeating: "x", count: 65_536)
        others[6].provider = String(repeating: "x", count: 65_536)
        let file = Self.encode(others + [good])
        #expect(try SnapshotDecoder.decode(file) == [good])
    }

    @Test("An answer beyond the byte limit is omitted, and smaller ones are still written")
    func byteLimit() throws {
        let small = try (0..<3).map { try HTTPDNSStoredResolution.sample("\($0).small.test") }
        var large = try HTTPDNSStoredResolution.sample("large.test")
        large.route = String(repeating: "x", count: 5000)
        let all = [small[0], large, small[1], small[2]]
        let limit = Self.encode([small[0], small[1]]).count
        #expect(try SnapshotDecoder.decode(SnapshotEncoder.encode(all, maximumBytes: limit)) == Array(small.prefix(2)))
        let file = SnapshotEncoder.encode(all, maximumBytes: limit - 1)
        #expect(try SnapshotDecoder.decode(file) == [small[0]])
    }
}
