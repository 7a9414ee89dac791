// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes
import ServerRig
import Testing

@testable import resolve_test

@Suite("The arguments HOST, -H and -d")
struct RequestArgumentTests {
    @Test(
        "A host may have a port, and IPv6 needs brackets only then",
        arguments: [
            ("One.Test.", "one.test", UInt16(443)), ("one.test:8443", "one.test", 8443),
            ("127.0.0.1", "127.0.0.1", 443),
            ("127.0.0.1:80", "127.0.0.1", 80), ("2001:db8::7", "2001:db8::7", 443), ("[::1]:81", "::1", 81),
            ("[::1]", "::1", 443), ("bücher.test", "xn--bcher-kva.test", 443),
        ]
    )
    func host(text: String, host: String, port: UInt16) throws {
        let argument = try HostArgument(text)
        #expect(argument.host.description == host)
        #expect(argument.port == port)
    }

    @Test(
        "An invalid host is refused",
        arguments: ["", "a..b", "one.test:", "one.test:0", "one.test:70000", "one.test:+1", "[::1", "1.2.3", "a b"]
    )
    func badHost(text: String) {
        let failure = #expect(throws: CommandFailure.self) { try HostArgument(text) }
        #expect(failure?.exitStatus == 2)
    }

    @Test("A URL in place of a host leads to explain")
    func url() {
        let failure = #expect(throws: CommandFailure.self) { try HostArgument("https://one.test/?a=1") }
        #expect(failure?.hint == "resolve-test explain 'https://one.test/?a=1'")
    }

    @Test("Header fields are read by curl's rules, and Host is kept apart")
    func headers() throws {
        let argument = try HeaderArgument(["Accept:  text/html ", "X-Empty;", "accept: a:b", "host: other.test"])
        #expect(
            argument.fields.map { "\($0.name.rawName)=\($0.value)" } == ["Accept=text/html", "X-Empty=", "accept=a:b"]
        )
        #expect(argument.hostHeader == "other.test")
    }

    @Test(
        "A header field that is invalid or could end the head is refused",
        arguments: [
            ["A: b\r\nEvil: c"], ["A: b\nc"], ["A: b\rc"], ["A: b\u{0}c"], ["no colon"], ["A:"], ["A: "], ["sp ace: x"],
            [": x"], [":path: /x"], ["Host: a", "Host: b"], ["A: \u{1}"], [""],
        ]
    )
    func badHeaders(texts: [String]) {
        let failure = #expect(throws: CommandFailure.self) { try HeaderArgument(texts) }
        #expect(failure?.exitStatus == 2)
    }

    @Test(
        "A bad field's value, which may be a credential, is not repeated",
        arguments: ["Authorization: sesame\n", "Authorization sesame", "Authorization: \u{1}sesame"]
    )
    func keepsValuesSecret(text: String) {
        let failure = #expect(throws: CommandFailure.self) { try HeaderArgument([text]) }
        #expect(failure?.message.hasPrefix("-H \"Authorization") == true)
        #expect(failure.map { "\($0)" }?.contains("sesame") == false)
    }

    /// Files keep line breaks where the argument says so.
    @Test("Parts of a body are joined by &, and files lose line breaks as with curl")
    func data() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("one\r\ntwo\n\u{0}", to: "data.txt")
        let joined = try DataArgument.bytes(["a=1", "@\(file)"], keepsLineBreaks: false)
        #expect(String(decoding: joined, as: UTF8.self) == "a=1&onetwo")
        let kept = try DataArgument.bytes(["@\(file)"], keepsLineBreaks: true)
        #expect(String(decoding: kept, as: UTF8.self) == "one\r\ntwo\n\u{0}")
        #expect(try DataArgument.bytes([""], keepsLineBreaks: false) == [])
        let failure = #expect(throws: CommandFailure.self) {
            try DataArgument.bytes(["@/nonexistent/file"], keepsLineBreaks: false)
        }
        #expect(failure?.message.contains("/nonexistent/file") == true)
    }
}
