// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct JSONValueTests {
    @Test("Keys are in alphabetical order, on one line or on lines of their own")
    func order() {
        let value = JSONValue.object([
            "b": .integer(1), "a": .array([.null, .bool(true)]), "empty": .array([]), "none": .object([:]),
        ])
        #expect(value.oneLine == #"{"a":[null,true],"b":1,"empty":[],"none":{}}"#)
        #expect(
            value.indented == """
                {
                  "a" : [
                    null,
                    true
                  ],
                  "b" : 1,
                  "empty" : [

                  ],
                  "none" : {

                  }
                }
                """
        )
    }

    @Test(
        "Text is escaped so that it stays one value and moves no cursor",
        arguments: [
            ("a\"b\\c", #""a\"b\\c""#), ("line\nend\r\t", #""line\nend\r\t""#), ("\u{1B}[2J", #""\u001b[2J""#),
            ("\u{0}\u{7f}\u{9b}", #""\u0000\u007f\u009b""#), ("bücher/ü", #""bücher/ü""#),
            ("C:\\\u{9b}", #""C:\\\u009b""#),
        ]
    )
    func escapes(text: String, expected: String) {
        #expect(JSONValue.text(text).oneLine == expected)
    }

    @Test(
        "Numbers have no more decimals than requested, and no locale",
        arguments: [
            (0.1234567, "0.123457"), (0.1 + 0.2, "0.3"), (2.0, "2"), (0.0000004, "0"), (-0.0000004, "0"),
            (-1.5, "-1.5"), (.infinity, "null"), (.nan, "null"),
        ]
    )
    func numbers(value: Double, expected: String) {
        #expect(JSONValue.decimal(value, places: 6).oneLine == expected)
    }

    @Test("A duration that did not happen is null")
    func seconds() {
        #expect(JSONValue.seconds(nil).oneLine == "null")
        #expect(JSONValue.seconds(.microseconds(1500)).oneLine == "0.0015")
        #expect(JSONValue.seconds(.seconds(30)).oneLine == "30")
    }
}
#endif
