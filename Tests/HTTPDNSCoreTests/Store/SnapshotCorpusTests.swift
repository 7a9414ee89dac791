// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNSCore

/// The fuzzer's corpus, see `Fuzz/README.md`.
struct SnapshotCorpusTests {
    @Test("Any snapshot gives answers that encode to it again, or a typed one-line error")
    func corpus() throws {
        var accepted = 0
        var codes: Set<HTTPDNSResolutionStoreError.Code> = []
        for (name, octets) in try Repository.corpus("disk-snapshot") {
            var inputs = [octets]
            if octets.count >= SnapshotFormat.headerOctets { inputs.append(Self.withFittingHeader(octets)) }
            for input in inputs {
                do {
                    let resolutions = try SnapshotFile(path: "f").decode(input)
                    #expect(
                        SnapshotEncoder.encode(resolutions, maximumBytes: .max) == input,
                        "\(name)"
                    )
                    accepted += 1
                } catch {
                    let isOneLine = error.message.utf8.allSatisfy { (0x20...0x7e).contains($0) }
                    #expect(isOneLine, "\(name)")
                    codes.insert(error.code)
                }
            }
        }
        #expect(codes == [.corrupt, .unsupportedVersion])
        #expect(accepted >= 10)
    }

    /// As the fuzzer's target does it.
    private static func withFittingHeader(_ octets: [UInt8]) -> [UInt8] {
        var file = octets
        func put(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value.bigEndian) { file.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        file.replaceSubrange(0..<8, with: SnapshotFormat.magic)
        put(SnapshotFormat.version, at: 8)
        put(UInt64(file.count - SnapshotFormat.headerOctets), at: 16)
        put(SnapshotFormat.checksum(of: file), at: SnapshotFormat.checksumOffset)
        return file
    }
}
