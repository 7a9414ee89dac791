// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCurl

struct ResponseHeadParserTests {
    private func parse(_ text: String) throws -> (HTTPResponse, HTTPDNSTransfer.HTTPVersion) {
        let (head, version) = try ResponseHead.received(Array(text.utf8))
        return (head.whole, version)
    }

    /// Names case-insensitively, values without surrounding space.
    @Test("The status line and the fields of a head are read")
    func fields() throws {
        let (head, version) = try parse(
            "HTTP/1.1 404 Not Here\r\ncontent-TYPE:  text/plain \r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-Empty:\r\n\r\n"
        )
        #expect(version == .http11)
        #expect(head.status.code == 404)
        #expect(head.status.reasonPhrase == "Not Here")
        #expect(head.headerFields[.contentType] == "text/plain")
        #expect(head.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(head.headerFields[HTTPField.Name("x-empty")!] == "")
    }

    @Test(
        "The status line gives the version",
        arguments: [
            ("HTTP/2 200 \r\n", HTTPDNSTransfer.HTTPVersion.http2), ("HTTP/1.0 200 OK\r\n", .http10),
            ("HTTP/1.1 200\n", .http11),
        ]
    )
    func versions(text: String, version: HTTPDNSTransfer.HTTPVersion) throws {
        let parsed = try parse(text)
        #expect(parsed.1 == version)
        #expect(parsed.0.status == .ok)
    }

    @Test("A folded line continues the value before it")
    func folding() throws {
        let (head, _) = try parse("HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\nServer: x\r\n\r\n")
        #expect(head.headerFields[HTTPField.Name("x-long")!] == "one two three")
        #expect(head.headerFields[.server] == "x")
    }

    @Test("Bytes outside ASCII in a value survive")
    func latin() throws {
        let bytes =
            Array("HTTP/1.1 200 OK\r\nX-Folded: ".utf8) + [0xe4] + Array("\r\n ".utf8) + [0xf6]
            + Array("\r\nX-Name: ".utf8) + [0xe9] + Array("\r\n\r\n".utf8)
        let (head, _) = try ResponseHead.received(bytes)
        let field = try #require(head.headerFields.first { $0.name.canonicalName == "x-name" })
        #expect(field.withUnsafeBytesOfValue { Array($0) } == [0xe9])
        #expect(head.headerFields.first?.withUnsafeBytesOfValue { Array($0) } == [0xe4, 0x20, 0xf6])
    }

    @Test(
        "Text that is no HTTP head is a protocol violation",
        arguments: [
            "", "\r\n", "hello\r\n", "HTTP/1.1\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 099 x\r\n",
            "HTTP/3.7 200 OK\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\na b: x\r\n\r\n", "HTTP/1.1 200 OK\r\n folded first\r\n\r\n",
        ]
    )
    func violations(text: String) {
        let failure = #expect(throws: TransferFailure.self) { try parse(text) }
        #expect(failure?.code == .protocolViolation)
    }

    @Test("Every prefix of a head gives a value or a typed error")
    func prefixes() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nVary: a\r\n b\r\n\r\n".utf8)
        for count in 0...bytes.count {
            do throws(TransferFailure) {
                _ = try ResponseHead.received(Array(bytes.prefix(count)))
            } catch {
                #expect(error.code == .protocolViolation)
            }
        }
    }

    @Test("A head of too many fields is refused and does not stop the process")
    func tooManyFields() {
        let text = "HTTP/1.1 200 OK\r\n" + String(repeating: "a:b\r\n", count: 70_000) + "\r\n"
        #expect(throws: TransferFailure.self) { try parse(text) }
    }

    /// The check at arrival and the library of the fields read the same names: no field of a checked head is left out.
    @Test("A head passes exactly when each of its names is a token", arguments: UInt8.min...UInt8.max)
    func tokens(byte: UInt8) throws {
        guard byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") else { return }
        for name in [[byte], [UInt8(ascii: "a"), byte], [UInt8(ascii: "a"), byte, UInt8(ascii: "b")]] {
            let isToken = HTTPField.Name(String(decoding: name, as: UTF8.self)) != nil
            // A space begins a folded line, and a colon ends a name.
            guard name[0] != 0x20, name[0] != 0x09, byte != UInt8(ascii: ":") else { continue }
            let head = try? ResponseHead.received(
                Array("HTTP/1.1 200 OK\r\n".utf8) + name + Array(": x\r\n\r\n".utf8)
            )
            #expect((head != nil) == isToken)
            #expect((head?.0.headerFields.count ?? 1) == 1)
        }
    }
}
