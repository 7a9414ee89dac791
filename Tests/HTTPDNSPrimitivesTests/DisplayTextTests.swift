// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct DisplayTextTests {
    @Test(
        "Characters that could change a line or its meaning are escaped",
        arguments: [
            ("plain text", "plain text"), ("a\r\nb\tc", "a\\r\\nb\\tc"), ("a\u{0}b\u{1b}[31m", "a\\u{0}b\\u{1b}[31m"),
            ("say \"hi\" \\", "say \\\"hi\\\" \\\\"), ("a\u{202e}b\u{2028}c", "a\\u{202e}b\\u{2028}c"),
            ("bücher.test", "bücher.test"), ("a\u{a0}b\u{200b}c\u{85}", "a\\u{a0}b\\u{200b}c\\u{85}"),
        ]
    )
    func escapes(text: String, expected: String) {
        #expect(text.escaped(limit: 80) == expected)
    }

    @Test("Long text is cut, and combining marks count one by one")
    func cuts() {
        #expect(String(repeating: "a", count: 80).escaped(limit: 80) == String(repeating: "a", count: 80))
        #expect(String(repeating: "a", count: 81).escaped(limit: 80) == String(repeating: "a", count: 80) + "...")
        let heap = "a" + String(repeating: "\u{301}", count: 1_000)
        #expect(heap.escaped(limit: 80).unicodeScalars.count <= 83)
        #expect(String(repeating: "\n", count: 200).escaped(limit: 80).count <= 84)
    }

    @Test("A message on one line keeps its quotation marks, and is escaped once")
    func escapesMessagesOnce() {
        let message = "its \"code\" is not \"success\"\n\u{1b}[31m \\"
        let line = message.onOneLine(limit: 80)
        #expect(line == "its \"code\" is not \"success\"\\n\\u{1b}[31m \\")
        #expect(line.onOneLine(limit: 80) == line)
        #expect(String(repeating: "\"", count: 81).onOneLine(limit: 80) == String(repeating: "\"", count: 80) + "...")
    }

    @Test("A location shows as much as is known")
    func writesLocations() {
        #expect(HTTPDNSSourceLocation(file: "a.yaml", line: 3, column: 5).description == "a.yaml:3:5")
        #expect(HTTPDNSSourceLocation(file: "a.yaml", line: 3).description == "a.yaml:3")
        #expect(HTTPDNSSourceLocation(file: "--map").description == "--map")
    }
}
