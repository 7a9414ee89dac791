// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import ServerRig
import Testing

@testable import resolve_test

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
            ["A: b\r\nEvil: c"], ["A: b\nc"], ["A: b\rc"], ["A: b\u{0}c"], ["no colon"], ["sp ace: x"], ["sp ace:"],
            [": x"], [":path: /x"], ["Host: a", "Host: b"], ["A: \u{1}"], [""],
        ]
    )
    func badHeaders(texts: [String]) {
        let failure = #expect(throws: CommandFailure.self) { try HeaderArgument(texts) }
        #expect(failure?.exitStatus == 2)
    }

    @Test(
        "A bad field's value, which may be a credential, is not repeated",
        arguments: [
            "Authorization: sesame\n", "Authorization sesame", "Authorization: \u{1}sesame", "sesame",
            "sesame\n", "opensesame (;", "sesame/ x;",
        ]
    )
    func keepsValuesSecret(text: String) {
        let failure = #expect(throws: CommandFailure.self) { try HeaderArgument([text]) }
        #expect(failure?.message.hasPrefix("-H") == true)
        #expect(failure.map { "\($0)" }?.contains("sesame") == false)
    }

    @Test("A field without a value is left out")
    func removedHeaders() throws {
        let argument = try HeaderArgument(["User-Agent:", "X-A: b", "expect: ", "Accept:", "Host:"])
        #expect(argument.fields.count == 1 && argument.removed.isSuperset(of: [.userAgent, .expect, .accept]))
        #expect(argument.notes.count == 1 && argument.hostHeader == nil)
    }

    @Test(
        "Fields about a connection are left out with a note, and an upgrade is refused",
        arguments: [
            ("Connection: keep-alive", true), ("connection: close", true), ("Keep-Alive: timeout=5", true),
            ("Proxy-Connection: Keep-Alive", true), ("Connection: Upgrade, HTTP2-Settings", false),
        ]
    )
    func fieldsOfConnection(text: String, isTaken: Bool) throws {
        let argument = try? HeaderArgument([text])
        #expect((argument != nil) == isTaken)
        if let argument { #expect(argument.fields.isEmpty && argument.notes.count == 1) }
    }

    /// Files keep line breaks where the option says so.
    @Test("Parts of a body are joined by &, and files lose line breaks as with curl")
    func data() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("one\r\ntwo\n\u{0}", to: "data.txt")
        func text(_ parts: DataArgument...) throws -> String {
            String(decoding: try DataArgument.bytes(parts), as: UTF8.self)
        }
        #expect(try text(.init("a=1"), .init("@\(file)")) == "a=1&onetwo")
        #expect(try text(.init("@\(file)", .binary)) == "one\r\ntwo\n\u{0}")
        #expect(try text(.init("@\(file)", .raw), .init("b")) == "@\(file)&b")
        #expect(try text(.init("")) == "")
        let failure = #expect(throws: CommandFailure.self) { try DataArgument.bytes([.init("@/nonexistent/file")]) }
        #expect(failure?.message.contains("/nonexistent/file") == true)
    }

    @Test(
        "Content of --data-urlencode is encoded, and the name before it is not",
        arguments: [
            ("a b&c", "a+b%26c"), ("=a=b", "a%3Db"), ("n=a b", "n=a+b"), ("n~-._=~-._", "n~-._=~-._"), ("é", "%C3%A9"),
        ]
    )
    func encodedData(text: String, encoded: String) throws {
        #expect(String(decoding: try DataArgument.bytes([.init(text, .encoded)]), as: UTF8.self) == encoded)
    }

    @Test(
        "A URL without a scheme has http, and a damaged one is not repaired",
        arguments: [
            ("one.test", "http://one.test"), ("one.test:80/a://b", "http://one.test:80/a://b"),
            ("[::1]/", "http://[::1]/"),
            ("https://one.test", "https://one.test"), ("ftp://one.test/", "ftp://one.test/"), ("http:/a", "http:/a"),
            ("HTTP:a", "HTTP:a"), ("localhost:8080?u=http://a", "http://localhost:8080?u=http://a"),
        ]
    )
    func completed(text: String, url: String) {
        #expect(URLArgument.completed(text) == url)
    }

    @Test(
        "The file of -O has the last name of the path, and a path without one is refused",
        arguments: [
            ("http://a.test/b/c.txt?d=/e", "c.txt"), ("http://a.test/b/", nil), ("http://a.test", nil),
            ("http://a.test/..", nil), ("http://a.test/b%2fc#d", "b%2fc"),
        ] as [(String, String?)]
    )
    func remoteName(url: String, name: String?) {
        #expect((try? URLArgument.fileName(of: url)) == name)
    }

    @Test(
        "A number of bytes may have a unit",
        arguments: [
            ("500", 500), ("100k", 102_400), ("2M", 2_097_152), ("1g", 1 << 30), ("0", nil), ("0k", nil), ("x", nil),
            ("", nil),
        ]
            as [(String, Int?)]
    )
    func bytes(text: String, bytes: Int?) throws {
        let isNumber = text.first?.isNumber == true
        guard isNumber else {
            #expect(throws: CommandFailure.self) { try ByteArgument.bytes(text, of: "--limit-rate") }
            return
        }
        #expect(try ByteArgument.bytes(text, of: "--limit-rate") == bytes)
    }
}
#endif
