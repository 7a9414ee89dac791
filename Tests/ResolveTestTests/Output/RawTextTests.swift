// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct RawTextTests {
    static let values: [[UInt8]] = [
        [], Array("plain".utf8), Array("Köln 😀".utf8), [0x4b, 0xf6, 0x6c, 0x6e], [0x80, 0xff, 0xc3],
        [0xc3, 0xa4, 0xe4, 0x41],
        [0xe2, 0x82], [0xf0, 0x9f, 0x98, 0x41], Array("\u{10ff80}\u{10ffff}\u{10ff7f}".utf8),
        [0xf4, 0x8f, 0xbe, 0x80, 0xf6],
    ]

    @Test("Every value has a text of its own, from which its bytes are read again", arguments: values)
    func bytes(value: [UInt8]) {
        #expect(RawText.bytes(RawText.text(value)) == value)
        let readable = String(validating: value, as: UTF8.self).map { !$0.contains("\u{10ff80}") } ?? false
        #expect(RawText.isRaw(RawText.text(value)) == !readable)
    }

    @Test("Only values of header fields may be other than UTF-8")
    func arguments() {
        let raw: [UInt8] = [0x58, 0x3a, 0xf6]
        func unreadable(_ words: [String]) -> Int? {
            RawText.arguments(words.map { Array($0.utf8) } + [raw]).unreadable
        }
        for words in [["fetch", "-H"], ["--header"], ["-sSH"], ["-A"], ["-b"], ["-e"]] {
            #expect(unreadable(words) == nil, "\(words)")
        }
        for words in [["fetch"], ["-d"], ["-u"], ["-oH"], ["H"]] {
            #expect(unreadable(words) == words.count + 1, "\(words)")
        }
        for option in ["-H", "--header="] {
            let (texts, unreadable) = RawText.arguments([Array(option.utf8) + raw])
            #expect(unreadable == nil && texts.map(RawText.bytes) == [Array(option.utf8) + raw])
        }
    }

    @Test("A header field of the command line is sent with its bytes")
    func header() throws {
        let argument = try HeaderArgument([RawText.text([0x58, 0x3a, 0x20, 0xf6, 0xc3, 0xb6])])
        #expect(argument.fields.first?.withUnsafeBytesOfValue { Array($0) } == [0xf6, 0xc3, 0xb6])
    }

    @Test("JSON has the text of a field, and marks a value that is not UTF-8 as ISO-8859-1")
    func json() {
        for (bytes, text, isLatin1) in [
            ([0x4b, 0xf6, 0x80] as [UInt8], "K\u{f6}\u{80}", true), ([0xc3, 0xb6], "\u{f6}", false),
        ] {
            let value = RawText.json(HTTPField(name: .server, lenientValue: bytes))
            #expect(value == (text, isLatin1))
        }
        var values = WriteOut.Values(url: "u", request: .init(url: "http://u/"), fileName: nil)
        values.setHeaderFields(
            HTTPFields([HTTPField(name: .server, lenientValue: [0xf6]), HTTPField(name: .age, value: "1")])
        )
        #expect(values.headerJSON.oneLine == "{\":latin1\":[\"server\"],\"age\":[\"1\"],\"server\":[\"\u{f6}\"]}")
    }
}
#endif
