// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Testing

@testable import resolve_test

struct TextTests {
    @Test(
        "Control characters from outside are shown, not obeyed",
        arguments: [
            ("plain ü", "plain ü"), ("a\nb", "a\\nb"), ("a\r\nb", "a\\r\\nb"), ("\u{1B}[31mred", "\\u{1b}[31mred"),
            ("right\u{202e}left", "right\\u{202e}left"), ("c1\u{9b}", "c1\\u{9b}"),
        ]
    )
    func printable(text: String, expected: String) {
        #expect(PrintableText.line(text) == expected)
    }

    @Test(
        "Arguments survive a shell",
        arguments: [
            ("https://a.test/x", "https://a.test/x"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''"),
            ("a?b=$(rm)", "'a?b=$(rm)'"), ("[::1]", "'[::1]'"),
        ]
    )
    func shell(argument: String, expected: String) {
        #expect(ShellText.quoted(argument) == expected)
    }

    @Test("Color is for terminals, never with NO_COLOR or on a dumb terminal")
    func colour() {
        #expect(Style(terminal: true, environment: [:]).bad("x") == "\u{1B}[31mx\u{1B}[0m")
        #expect(Style(terminal: true, environment: ["NO_COLOR": ""]).isColoured)
        #expect(!Style(terminal: true, environment: ["NO_COLOR": "1"]).isColoured)
        #expect(!Style(terminal: true, environment: ["TERM": "dumb"]).isColoured)
        #expect(Style(terminal: false, environment: [:]).bad("x") == "x")
    }

    @Test(
        "Figures are written for reading",
        arguments: [
            (Figures.phase(.microseconds(61_940)), "61.9 ms"), (Figures.phase(.microseconds(40)), "0.0 ms"),
            (Figures.phase(.milliseconds(2310)), "2.31 s"), (Figures.lifetime(.milliseconds(4990)), "5 s"),
            (Figures.lifetime(.milliseconds(400)), "0.4 s"), (Figures.lifetime(.seconds(719)), "12 min"),
            (Figures.lifetime(.seconds(10_800)), "3 h"), (Figures.count(1_048_576), "1,048,576"),
            (Figures.count(-999), "-999"), (Figures.bytes(1), "1 byte"), (Figures.fixed(-0.05, places: 1), "-0.1"),
        ]
    )
    func figures(text: String, expected: String) {
        #expect(text == expected)
    }

    @Test("Progress shows the amount, the total and the rate")
    func progress() {
        #expect(
            DownloadProgress.text(received: 3_145_728, expected: 6_291_456, seconds: 1.5)
                == "       3,145,728 bytes (50 %)  2.0 MiB/s"
        )
        #expect(
            DownloadProgress.text(received: 10, expected: nil, seconds: 0) == "       10 bytes  0.0 MiB/s"
        )
    }

    @Test("Lines fold between their parts on a narrow screen, and nowhere else")
    func folding() {
        let parts = ["https://203.0.113.8:8443/v1", "Host api.test:8443", "SNI and certificate api.test"]
        let narrow = LabelledLine.text("form", parts, labelWidth: 6, screen: Screen(width: 60, style: .plain))
        #expect(
            narrow == """
                form  https://203.0.113.8:8443/v1   Host api.test:8443
                      SNI and certificate api.test

                """
        )
        let wide = LabelledLine.text("form", parts, labelWidth: 6, screen: .plain)
        #expect(wide == "form  https://203.0.113.8:8443/v1   Host api.test:8443   SNI and certificate api.test\n")
    }

    @Test("A row of a table folds between its cells, and other rows stay in their columns")
    func foldedTable() {
        var columns = Columns()
        columns.append(["one.test", "127.0.0.2", "mapping"])
        columns.append(["", "127.0.0.3"])
        columns.append(["a.long.name.test", "127.0.0.4", "refused by a policy with words"])
        #expect(
            columns.lines(width: 30) == [
                "one.test          127.0.0.2", "    mapping", "                  127.0.0.3",
                "a.long.name.test  127.0.0.4",
                "    refused by a policy with", "    words",
            ]
        )
        #expect(columns.lines(width: 80) == columns.lines())
    }

    @Test("Sentences fold at blanks, colors have no width, and a long word stays whole")
    func foldedText() {
        #expect(FoldedText.text("one two three\n\nfour", width: 9) == "one two\n    three\n\nfour")
        #expect(FoldedText.text("\u{1B}[31mone\u{1B}[0m two", width: 7) == "\u{1B}[31mone\u{1B}[0m two")
        #expect(FoldedText.text("      one two", width: 10) == "      one\n      two")
        #expect(FoldedText.text("https://one.test/", width: 5) == "https://one.test/")
    }
}
#endif
