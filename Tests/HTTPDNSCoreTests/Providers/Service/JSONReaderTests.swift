// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

struct JSONReaderTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    @Test(
        "Every kind of value is read",
        arguments: [
            ("null", .null), ("true", .bool(true)), (" false ", .bool(false)), ("0", .number(0)), ("-0", .number(0)),
            ("12.5e1", .number(125)), ("1E+2", .number(100)), ("-1e-1", .number(-0.1)), ("1e999", .number(.infinity)),
            ("\"\"", .string("")), (#""a\"\\\/\b\f\n\r\tb""#, .string("a\"\\/\u{8}\u{c}\n\r\tb")),
            (#""\u00e9\uD83D\uDE00""#, .string("é😀")), ("\"é😀\u{7f}\"", .string("é😀\u{7f}")), ("[]", .array([])),
            ("[ 1 , [ ] ]", .array([.number(1), .array([])])), ("{}", .object([:])), ("{ }", .object([:])),
            ("\t{\"a\" : 1 ,\r\n\"b\":[null]}\n", .object(["a": .number(1), "b": .array([.null])])),
            (#"{"a":{"a":{}}}"#, .object(["a": .object(["a": .object([:])])])),
        ] as [(String, JSONValue)]
    )
    func values(text: String, expected: JSONValue) throws {
        #expect(try read(text) == expected)
    }

    @Test(
        "Text that RFC 8259 does not allow is refused with its position",
        arguments: [
            ("", 0), (" ", 1), ("nul", 0), ("nulls", 4), ("TRUE", 0), ("01", 2), ("-", 0), ("+1", 0), (".5", 0),
            ("1.", 2), ("1e", 2), ("1e+", 3), ("NaN", 0), ("0x10", 1), ("1 2", 2), ("[1", 2), ("[1,", 3), ("[1,]", 3),
            ("[,1]", 1), ("[1 2]", 3), ("{", 1), ("{a:1}", 1), ("{'a':1}", 1), (#"{"a"}"#, 4), (#"{"a":}"#, 5),
            (#"{"a":1"#, 6), (#"{"a":1,}"#, 7), (#"{"a":1 "b":2}"#, 7), (#"{1:2}"#, 1), ("\"a", 2), ("\"\\\"", 3),
            (#""\x41""#, 1), (#""\u12g4""#, 5), (#""\u123"#, 6), ("\"a\nb\"", 2), ("\"\u{0}\"", 1),
            (#""\ud83d""#, 1), (#""\ud83d\n""#, 1), (#""\ud83d\u0041""#, 1), (#""\ude00""#, 1), ("<html>", 0),
            ("\u{feff}{}", 0), ("{}\u{0}", 2), ("// a\n1", 0),
        ]
    )
    func refused(text: String, offset: Int) {
        let error = #expect(throws: JSONError.self) { try read(text) }
        #expect(error?.offset == offset, "\(text): \(error?.description ?? "")")
    }

    /// In different objects it is allowed.
    @Test("A duplicate key in one object is refused, even when one is escaped")
    func duplicateKeys() throws {
        #expect(throws: JSONError.self) { try read(#"{"a":1,"b":2,"a":1}"#) }
        #expect(throws: JSONError.self) { try read(#"{"a":1,"\u0061":1}"#) }
        #expect(throws: JSONError.self) { try read(#"[{"x":{"a":1,"a":2}}]"#) }
        #expect(throws: Never.self) { try read(#"[{"a":1},{"a":{"a":2}}]"#) }
    }

    @Test(
        "Octets that are not UTF-8 are refused",
        arguments: [[0x22, 0xff, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0xfe, 0xff]]
    )
    func notUTF8(octets: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONReader.read(octets) }
    }

    @Test(
        "Depth is limited, whatever else the text has",
        arguments: [
            ("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]"),
        ]
    )
    func depth(open: String, close: String) throws {
        let levels = open.filter { $0 == "[" || $0 == "{" }.count
        func nested(_ depth: Int) -> String {
            let count = depth / levels
            return String(repeating: open, count: count) + "1" + String(repeating: close, count: count)
        }
        #expect(throws: Never.self) { try read(nested(JSONReader.maximumDepth)) }
        #expect(throws: JSONError.self) { try read(nested(JSONReader.maximumDepth + levels)) }
        #expect(throws: JSONError.self) { try read(nested(10_000)) }
        #expect(throws: JSONError.self) { try read(String(repeating: open, count: 10_000)) }
    }

    @Test("The length of numbers is limited")
    func longNumber() throws {
        let longest = String(repeating: "9", count: JSONReader.maximumNumberOctets)
        #expect(try read(longest) == .number(1e64))
        #expect(throws: JSONError.self) { try read(longest + "9") }
        #expect(throws: JSONError.self) { try read("1e" + String(repeating: "0", count: 60_000) + "1") }
    }

    @Test("A text cut off anywhere is refused")
    func cut() throws {
        let text = Array(#"{"Status":0,"Answer":[{"name":"a\u00e9.","TTL":1e1,"ok":true,"none":null}]}"#.utf8)
        #expect(throws: Never.self) { try JSONReader.read(text) }
        for length in 0..<text.count {
            #expect(throws: JSONError.self, "\(length)") { try JSONReader.read(Array(text.prefix(length))) }
        }
    }

    @Test("Every error is one line of ASCII and quotes nothing of the text")
    func errors() {
        for text in ["{\"secret\u{1b}\":1,\"secret\u{1b}\":2}", "[secret]", "{\"a\":\"secret"] {
            let error = #expect(throws: JSONError.self) { try read(text) }
            #expect(error?.description.utf8.allSatisfy { (0x20...0x7e).contains($0) } == true)
            #expect(error?.description.contains("secret") == false)
        }
    }
}
