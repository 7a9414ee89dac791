// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import ServerRig
import Testing

@testable import resolve_test

struct WriteOutTests {
    private func values() -> WriteOut.Values {
        var values = WriteOut.Values(url: "one.test", request: .init(url: "http://one.test"), fileName: "f")
        values["http_code"] = .status(404)
        values["time_total"] = .seconds(0.0421)
        values.setHeaderFields([.contentType: "text/plain", .setCookie: "a=1"])
        return values
    }

    private func text(_ format: String, _ values: WriteOut.Values) throws -> String {
        try WriteOut(format).text(values).map(\.text).joined()
    }

    @Test(
        "Variables, escapes and header fields are written as curl writes them",
        arguments: [
            ("%{http_code}", "404"), ("a\\nb\\t\\q\\\\", "a\nb\t\\q\\\\"), ("100 %%", "100 %"), ("%x %", "%x %"),
            ("%{time_total}", "0.042100"), ("%{url_effective} %{url}", "http://one.test/ one.test"),
            ("%header{Content-Type}|%header{nope}", "text/plain|"), ("%{errormsg}", ""), ("%{filename_effective}", "f"),
            ("a%{onerror}b", "a"), ("%{scheme}", "HTTP"), ("%{unended", "%{unended"),
            ("%{header_json}", #"{"content-type":["text/plain"],"set-cookie":["a=1"]}"#), ("", ""),
        ]
    )
    func formats(format: String, expected: String) throws {
        #expect(try text(format, values()) == expected)
    }

    @Test("After a failure the status is 000, and the exit status and the error are there")
    func failure() throws {
        var values = WriteOut.Values(url: "u", request: .init(url: "http://u/"), fileName: nil)
        var failure = CommandFailure.failed(code: "connect-failed", "refused")
        failure.curlStatus = 7
        failure.usesCurlStatus = true
        values.fail(failure)
        #expect(try text("%{http_code} %{exitcode}%{onerror} %{errormsg}", values) == "000 7 refused")
        let json = try text("%{json}", values)
        #expect(json.contains("\"exitcode\":7") && json.contains("\"http_code\":0") && json.contains("\"url\":\"u\""))
    }

    @Test("Text after stderr goes to standard error, until stdout")
    func streams() throws {
        let parts = try WriteOut("a%{stderr}b%{stdout}c").text(values())
        #expect(parts.map(\.text) == ["a", "b", "c"] && parts.map(\.isError) == [false, true, false])
    }

    @Test("Control characters in values of -w are escaped for a terminal")
    func escaping() throws {
        var values = values()
        values["content_type"] = .text("a\u{1b}[2J")
        let parts = try WriteOut("%{content_type}\n").text(values, escaping: { _ in true })
        #expect(parts.map(\.text).joined() == "a\\u{1b}[2J\n")
        #expect(try text("%{content_type}", values) == "a\u{1b}[2J")
    }

    @Test(
        "The effective URL has no user information",
        arguments: [
            ("http://user:secret@one.test/a", "http://one.test/a"), ("ftp://user:sec@ret@a/b@c", "ftp://a/b@c"),
            ("http://u:p@:x/", "http://:x/"),
        ]
    )
    func userInformation(url: String, effective: String) throws {
        let values = WriteOut.Values(url: url, request: .init(url: url), fileName: nil)
        #expect(try text("%{url_effective}", values) == effective)
    }

    @Test("A format can be in a file, and a variable that there is not is empty and noted")
    func file() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("%{http_code}\\n", to: "format")
        #expect(try text("@\(file)", values()) == "404\n")
        let format = try WriteOut("a%{nope}b")
        #expect(format.unknown == ["nope"] && format.text(values()).map(\.text).joined() == "ab")
    }
}
#endif
