// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct CRC32CTests {
    /// RFC 3720 appendix B.4, and the check value of the catalogs.
    @Test(
        "The checksum matches the published values",
        arguments: [
            ([], 0), (Array("123456789".utf8), 0xe306_9283), ([UInt8](repeating: 0, count: 32), 0x8a91_36aa),
            ([UInt8](repeating: 255, count: 32), 0x62a8_ab43), ([UInt8](0..<32), 0x46dd_794e),
            ((0..<32).map { 31 - $0 }, 0x113f_db5c),
        ] as [([UInt8], UInt32)]
    )
    func known(octets: [UInt8], checksum: UInt32) {
        var whole = CRC32C()
        whole.update(octets[...])
        #expect(whole.value == checksum)
        var parts = CRC32C()
        parts.update(octets.prefix(5))
        parts.update(octets.dropFirst(5))
        #expect(parts.value == checksum)
    }
}
