// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSNIO

struct ProxyHandshakeTests {
    private static let login = ProxyLogin(user: "httpdns", password: "secret")
    private static let password: [UInt8] = [1, 7] + Array("httpdns".utf8) + [6] + Array("secret".utf8)
    private static let basic = "Proxy-Authorization: Basic aHR0cGRuczpzZWNyZXQ=\r\n"

    /// Bytes from a client, and what they lead to.
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var replies: [UInt8] = []
        var end: End
        var rest: [UInt8] = []

        enum End: Hashable {
            case target(String, UInt16)
            /// The first line of an HTTP answer, or the whole SOCKS answer.
            case refused(String, ProxyHandshake.Refusal)
            case nothing
        }
    }

    private static func socks(_ request: [UInt8], password: [UInt8] = password) -> [UInt8] {
        [5, 2, 0, 2] + password + request
    }

    static let cases: [Case] = [
        Case(
            testDescription: "SOCKS, a name",
            bytes: socks([5, 1, 0, 3, 8] + Array("one.test".utf8) + [1, 187]),
            replies: [5, 2, 1, 0],
            end: .target("one.test", 443)
        ),
        Case(
            testDescription: "SOCKS, an IPv4 address and early data",
            bytes: socks([5, 1, 0, 1, 127, 0, 0, 9, 0, 80, 71, 69, 84]),
            replies: [5, 2, 1, 0],
            end: .target("127.0.0.9", 80),
            rest: [71, 69, 84]
        ),
        Case(
            testDescription: "SOCKS, an IPv6 address",
            bytes: socks([5, 1, 0, 4] + [UInt8](repeating: 0, count: 15) + [1, 0, 80]),
            replies: [5, 2, 1, 0],
            end: .target("::1", 80)
        ),
        Case(testDescription: "SOCKS without a password", bytes: [5, 1, 0], end: .refused("05ff", .login)),
        Case(
            testDescription: "SOCKS with a wrong password",
            bytes: socks([], password: [1, 7] + Array("httpdns".utf8) + [6] + Array("secreT".utf8)),
            replies: [5, 2],
            end: .refused("0101", .login)
        ),
        Case(
            testDescription: "SOCKS, BIND",
            bytes: socks([5, 2, 0, 1, 127, 0, 0, 9, 0, 80]),
            replies: [5, 2, 1, 0],
            end: .refused("05070001000000000000", .unsupported)
        ),
        Case(
            testDescription: "SOCKS, an unknown kind of address",
            bytes: socks([5, 1, 0, 2, 0]),
            replies: [5, 2, 1, 0],
            end: .refused("05080001000000000000", .unsupported)
        ),
        Case(testDescription: "SOCKS 4", bytes: [4, 1, 0, 80, 127, 0, 0, 1, 0], end: .refused("", .malformed)),
        Case(testDescription: "TLS", bytes: [22, 3, 1, 2, 0], end: .refused("", .malformed)),
        Case(testDescription: "a part of a greeting", bytes: [5, 3, 2], end: .nothing),
        Case(
            testDescription: "CONNECT",
            bytes: Array("CONNECT one.test:8443 HTTP/1.1\r\nHost: x\r\n\(basic)\r\nearly".utf8),
            end: .target("one.test", 8443),
            rest: Array("early".utf8)
        ),
        Case(
            testDescription: "CONNECT to an IPv6 address",
            bytes: Array("CONNECT [::1]:80 HTTP/1.0\r\nproxy-authorization:BASIC aHR0cGRuczpzZWNyZXQ=\r\n\r\n".utf8),
            end: .target("[::1]", 80)
        ),
        Case(
            testDescription: "CONNECT without a password",
            bytes: Array("CONNECT one.test:443 HTTP/1.1\r\n\r\n".utf8),
            end: .refused("HTTP/1.1 407 Proxy Authentication Required", .login)
        ),
        Case(
            testDescription: "a message to forward",
            bytes: Array("GET http://one.test/ HTTP/1.1\r\n\(basic)\r\n".utf8),
            end: .refused("HTTP/1.1 501 Not Implemented", .unsupported)
        ),
        Case(
            testDescription: "CONNECT without a port",
            bytes: Array("CONNECT one.test HTTP/1.1\r\n\(basic)\r\n".utf8),
            end: .refused("HTTP/1.1 400 Bad Request", .malformed)
        ),
        Case(
            testDescription: "another protocol",
            bytes: Array("HELO one.test\r\n\r\n".utf8),
            end: .refused("HTTP/1.1 400 Bad Request", .malformed)
        ),
        Case(
            testDescription: "a head that is too long",
            bytes: Array(("CONNECT one.test:443 HTTP/1.1\r\nX: " + String(repeating: "x", count: 8200)).utf8),
            end: .refused("HTTP/1.1 431 Request Header Fields Too Large", .malformed)
        ),
    ]

    /// What a connection does with the actions.
    private struct Client {
        var handshake = ProxyHandshake(login)
        var replies: [UInt8] = []
        var end = Case.End.nothing

        mutating func send(_ bytes: some Sequence<UInt8>) {
            for action in handshake.received(bytes) {
                switch action {
                case .reply(let bytes): replies += bytes
                case .connect(let target): end = .target(target.host, target.port)
                case .refuse(let bytes, let refusal):
                    let text = String(decoding: bytes, as: UTF8.self)
                    let line = text.hasPrefix("HTTP") ? String(text.prefix { $0 != "\r\n" }) : hexadecimal(bytes)
                    end = .refused(line, refusal)
                }
            }
        }

        private func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    @Test("A handshake has the same outcome however its bytes arrive", arguments: cases)
    func outcomes(_ subject: Case) {
        for piece in [1, 2, 3, 7, 100, subject.bytes.count] {
            var client = Client()
            var left = subject.bytes[...]
            while !left.isEmpty {
                client.send(left.prefix(piece))
                left = left.dropFirst(piece)
            }
            #expect(client.replies == subject.replies, "\(piece)")
            #expect(client.end == subject.end, "\(piece)")
            let rest = client.handshake.takeRest()
            #expect(rest == subject.rest || subject.end == .nothing, "\(piece)")
        }
    }

    @Test("An outcome has the answer of its protocol")
    func answers() {
        let failures: [(ProxyHandshake.Outcome, socks: UInt8, http: String)] = [
            (.forbidden("a"), 2, "403"), (.unresolved("b"), 4, "502"), (.unreachable("c"), 5, "502"),
            (.late("d"), 4, "504"), (.full("e"), 1, "503"),
        ]
        var socks = Client()
        socks.send(Self.socks([5, 1, 0, 1, 127, 0, 0, 9, 0, 80]))
        var http = Client()
        http.send(Array("CONNECT one.test:8443 HTTP/1.1\r\n\(Self.basic)\r\n".utf8))
        #expect(socks.handshake.answer(to: .connected) == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        let established = String(decoding: http.handshake.answer(to: .connected), as: UTF8.self)
        // Without a length or coding: what follows is of the tunnel (RFC 9110 section 9.3.6).
        #expect(established == "HTTP/1.1 200 Connection established\r\n\r\n")
        for (outcome, code, status) in failures {
            #expect(socks.handshake.answer(to: outcome) == [5, code, 0, 1, 0, 0, 0, 0, 0, 0])
            let text = String(decoding: http.handshake.answer(to: outcome), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 \(status) ") && text.contains("Connection: close\r\n"), "\(text)")
        }
    }

    @Test("A login is never printed, and differs for each proxy")
    func login() {
        let (one, other) = (ProxyLogin(user: "httpdns"), ProxyLogin(user: "httpdns"))
        #expect(one.password.count == 22 && one.password != other.password)
        var dumped = ""
        dump(one, to: &dumped)
        for text in ["\(one)", String(reflecting: one), dumped] { #expect(!text.contains(one.password)) }
    }
}

struct TunnelDrainTests {
    @Test(
        "A tunnel to a left address ends by the first rule that applies",
        arguments: [
            // Milliseconds since the name has left, and since the last byte; whether it came from the server.
            (1_000, 1_999, true, nil), (1_000, 2_000, false, .quiet), (29_999, 60, true, nil),
            (30_000, 50, true, .afterServer), (30_000, 49, true, nil), (30_000, 1_999, false, nil),
            (59_999, 10, false, nil), (60_000, 0, false, .deadline), (60_000, 0, true, .deadline),
        ] as [(Int, Int, Bool, TunnelDrain.Ending?)]
    )
    func endings(_ left: Int, _ quiet: Int, _ isFromServer: Bool, _ ending: TunnelDrain.Ending?) {
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        let drain = TunnelDrain(leftAt: now - .milliseconds(left), deadline: .seconds(60))
        #expect(drain.ending(lastByte: (now - .milliseconds(quiet), isFromServer), at: now) == ending)
    }
}
#endif
