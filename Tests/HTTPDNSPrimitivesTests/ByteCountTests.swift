// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct ByteCountTests {
    @Test(
        "Units are powers of 1,024, and out-of-range numbers are clamped",
        arguments: [
            (HTTPDNSByteCount.bytes(0), 0, "0 B"), (.bytes(-1), 0, "0 B"), (.bytes(1_000), 1_000, "1000 B"),
            (.kibibytes(1), 1_024, "1 KiB"), (.mebibytes(4), 4_194_304, "4 MiB"),
            (.gibibytes(2), 2_147_483_648, "2 GiB"),
            (.kibibytes(1_024), 1_048_576, "1 MiB"), (.bytes(1_025), 1_025, "1025 B"),
            (.gibibytes(.max), .max, "9223372036854775807 B"), (.gibibytes(.min), 0, "0 B"),
        ]
    )
    func counts(count: HTTPDNSByteCount, bytes: Int, text: String) {
        #expect(count.bytes == bytes)
        #expect(count.description == text)
    }

    @Test("Counts compare by their bytes")
    func compares() {
        #expect(HTTPDNSByteCount.bytes(1_023) < .kibibytes(1))
        #expect(HTTPDNSByteCount.mebibytes(1) == .kibibytes(1_024))
    }
}
