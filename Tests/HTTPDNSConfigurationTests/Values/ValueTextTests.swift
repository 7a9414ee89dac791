// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import HTTPDNSCore
import Testing

struct ValueTextTests {
    @Test(
        "A duration is a whole number and a unit, written back in the longest unit",
        arguments: [
            ("0s", .zero, "0s"), ("500ms", .milliseconds(500), "500ms"), ("30s", .seconds(30), "30s"),
            ("60s", .seconds(60), "1m"), ("10m", .seconds(600), "10m"), ("1h", .seconds(3600), "1h"),
            ("90m", .seconds(5400), "90m"), ("007s", .seconds(7), "7s"), ("0h", .zero, "0s"),
        ] as [(String, Duration, String)]
    )
    func durations(text: String, duration: Duration, written: String) throws {
        #expect(try DurationText.parse(text, in: .zero...(.seconds(86_400))) == duration)
        #expect(DurationText.write(duration) == written)
    }

    @Test(
        "An invalid duration is refused",
        arguments: [
            "", "s", "5", "-1s", "+1s", "1 s", "1.5s", "1m30s", "1e3s", "5S", "\u{663}s", "1s ", "9999999999h", "25h",
        ]
    )
    func noDurations(text: String) {
        #expect(throws: ValueMistake.self) { try DurationText.parse(text, in: .zero...(.seconds(86_400))) }
    }

    @Test("A plain key or address is read as by the parser of all forms")
    func plainRules() throws {
        let pieces =
            ["a", "b7", "test", "0", "00", "-", "_", ".", "..", "127", "203.0.113.7", "256", "é", "A", "*", "*.", ":"]
            + [":80", "/", "[", "]", "::1", "ffff", " ", "@", "%", "0x7f", "system", "~", "null"]
        var (keys, targets) = (0, 0)
        for _ in 0..<100_000 {
            let text = (0..<Int.random(in: 0...5)).map { _ in pieces.randomElement() ?? "a" }.joined()
            if let target = TargetText.plainTarget(text) {
                targets += 1
                #expect(try TargetText.parse(text) == target, "\(text)")
            }
            // The key of the core has a parser of its own.
            if let key = try? HostKeyText.parseMapping(text) {
                keys += 1
                #expect(try HTTPDNSMapping.Key(text) == key, "\(text)")
            }
        }
        #expect(keys > 1_000 && targets > 100, "too few texts to say anything")
    }

    @Test(
        "Byte counts are a whole number and a binary unit",
        arguments: [
            ("1B", 1), ("512B", 512), ("64KiB", 65_536), ("4MiB", 4_194_304), ("1GiB", 1 << 30), ("1024GiB", 1 << 40),
        ]
    )
    func byteCounts(text: String, bytes: Int) throws {
        #expect(try ByteCountText.parse(text) == bytes)
    }

    @Test(
        "An invalid byte count is refused",
        arguments: [
            "", "B", "0B", "0MiB", "5", "5kB", "5 MiB", "-1B", "1.5MiB", "1025GiB", "9999999999999GiB",
            "99999999999999B",
        ]
    )
    func noByteCounts(text: String) {
        #expect(throws: ValueMistake.self) { try ByteCountText.parse(text) }
    }

    @Test(
        "The error proposes the unit that was probably meant",
        arguments: [
            ("30sec", "write 30s"), ("5min", "write 5m"), ("2 hours", "write 2h"), ("30", "did you mean 30s?"),
            ("7d", "write 168h"), ("30 s", "write 30s"),
        ]
    )
    func units(text: String, hint: String) {
        let mistake = #expect(throws: ValueMistake.self) {
            try DurationText.parse(text, in: .zero...(.seconds(86_400)))
        }
        #expect(mistake?.hint == hint)
    }

    @Test("A number too long for its unit leads to no proposal", arguments: ["12345678d", "99999999999999999999h"])
    func proposesNothing(text: String) {
        let mistake = #expect(throws: ValueMistake.self) {
            try DurationText.parse(text, in: .zero...(.seconds(86_400)))
        }
        #expect(mistake?.hint == nil)
    }
}
