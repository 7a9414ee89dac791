// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import HTTPTypes
import Testing

struct DoHReplyTests {
    private static let html = Array("<html>Log in to the network</html>".utf8)

    @Test(
        "A status other than 200 is an error with advice, even with a good body",
        arguments: [
            (204, "path of the DoH service"), (206, "200 and a DNS message"), (301, "redirects are not followed"),
            (302, "redirects are not followed"), (304, "nothing conditional"), (400, "check that the url"),
            (401, "does not let this client"), (403, "does not let this client"), (404, "check the url"),
            (405, "the other one of get and post"), (413, "too long"), (415, "application/dns-message"),
            (421, "bootstrap"), (429, "too many queries"), (500, "the service failed"), (502, "the service failed"),
            (503, "the service failed"), (999, "200 and a DNS message"),
        ]
    )
    func status(status: Int, advice: String) async throws {
        let scripted = try ScriptedDoHService { sent in
            var reply = UpstreamReply.loopback(to: sent)
            reply.status = status
            return reply
        }
        let error = try #require(await scripted.error())
        #expect(error.code == (status == 429 ? .rateLimited : .httpStatus))
        #expect(error.retryAfter == nil)
        #expect(error.message.hasPrefix("HTTP \(status) from 192.0.2.1:443: "))
        #expect(error.message.contains(advice))
    }

    @Test(
        "A wait is reported only if the service asks for one",
        arguments: [
            (429, "30", 30, "too many queries, it wants to be left alone for 30 s"),
            (503, "120", 120, "the service failed, it wants to be left alone for 120 s"),
            (429, "-1", nil, "too many queries"), (429, "Fri, 31 Dec 1999 23:59:59 GMT", nil, "too many queries"),
            (429, "30\u{1b}[2J", nil, "too many queries"), (429, "0", nil, "too many queries"),
            (
                429, "99999999999999999999", 4_294_967_295,
                "too many queries, it wants to be left alone for 4294967295 s"
            ),
            (403, "30", nil, "the service does not let this client ask"),
        ] as [(Int, String, Int?, String)]
    )
    func retryAfter(status: Int, value: String, seconds: Int?, expected: String) async throws {
        let scripted = try ScriptedDoHService { .status(status, to: $0, fields: [.retryAfter: value]) }
        let error = try await scripted.error()
        #expect(error?.message == "HTTP \(status) from 192.0.2.1:443: \(expected)")
        #expect(error?.retryAfter == seconds.map { .seconds($0) })
    }

    @Test(
        "The content type is compared without case, and its parameters are ignored",
        arguments: [
            ("application/dns-message", true), ("Application/DNS-Message", true),
            ("application/dns-message; charset=utf-8", true), ("application/dns-message ;x", true),
            ("text/html", false), ("application/dns-json", false), ("application/dns-messages", false), ("", false),
            ("application/dns-message, text/html", false), (";application/dns-message", false),
            ("application/octet-stream", false),
        ]
    )
    func contentType(value: String, isAccepted: Bool) async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0, fields: [.contentType: value]) }
        let error = try await scripted.error()
        #expect((error == nil) == isAccepted, "\(value)")
        if let error { #expect(error.code == .badResponse) }
    }

    /// As `add_header` of nginx in front of a service makes them (RFC 9110 section 8.3).
    @Test(
        "Of several content types of a response the last one counts",
        arguments: [
            (["application/dns-message", "application/dns-message"], true),
            (["text/html", "application/dns-message"], true), (["application/dns-message", "text/html"], false),
        ]
    )
    func severalContentTypes(values: [String], isAccepted: Bool) async throws {
        let scripted = try ScriptedDoHService { sent in
            var fields = HTTPFields()
            for value in values { fields.append(HTTPField(name: .contentType, value: value)) }
            return .loopback(to: sent, fields: fields)
        }
        let error = try await scripted.error()
        #expect((error == nil) == isAccepted, "\(error as Any)")
        if let error { #expect(error.code == .badResponse) }
    }

    @Test(
        "No text of a response is quoted beside a URL that may have a secret in it",
        arguments: [
            ("https://doh.test/dns-query", true), ("https://doh.test/0123abcd", false),
            ("https://doh.test/dns-query?key=0123abcd", false), ("https://doh.test/", false),
        ]
    )
    func secretURL(url: String, isQuoted: Bool) async throws {
        let scripted = try ScriptedDoHService(url: url) { sent in
            var reply = UpstreamReply.loopback(to: sent)
            let question = DNSQuestion(try HTTPDNSName("0123abcd.test"), type: .a)
            reply.body = DNSMessageBuilder(to: question).octets
            return reply
        }
        let error = try #require(await scripted.error())
        #expect(error.code == .badResponse)
        #expect(error.message.contains("0123abcd") == isQuoted, "\(error.message)")
        #expect(error.message.contains("wrongQuestion") == !isQuoted, "\(error.message)")
    }

    @Test("A response without content type is refused")
    func noContentType() async throws {
        let scripted = try ScriptedDoHService { .loopback(to: $0, fields: [:]) }
        let error = try #require(await scripted.error())
        #expect(error.code == .badResponse)
        #expect(error.message == "no Content-Type; it must be application/dns-message, from 192.0.2.1:443")
    }

    /// Its control characters do not appear either.
    @Test("A captive portal's page is named as such, without its text")
    func captivePortal() async throws {
        let scripted = try ScriptedDoHService { sent in
            .status(200, to: sent, fields: [.contentType: "text/html;\u{1b}]0;x\u{7}"], body: Self.html)
        }
        let error = try #require(await scripted.error())
        #expect(error.code == .badResponse)
        #expect(error.message.contains("captive portal"))
        #expect(error.message.utf8.allSatisfy { (0x20...0x7e).contains($0) })
        #expect(!error.message.contains("Log in"))
    }

    @Test("A body that does not answer the question is a bad response")
    func badBodies() async throws {
        let bodies: [[UInt8]] = [
            [], Self.html, [UInt8](repeating: 0, count: 12), [UInt8](repeating: 0xff, count: 512),
            DNSMessageBuilder(to: .a("two.test")).octets, DNSQuery.encoded(.a("one.test")),
        ]
        for body in bodies {
            let scripted = try ScriptedDoHService { sent in
                .status(200, to: sent, fields: [.contentType: "application/dns-message"], body: body)
            }
            let error = try #require(await scripted.error(.v4), "\(body.count) octets")
            #expect(error.code == .badResponse)
            #expect(error.message.hasPrefix("DNS message refused"))
            #expect(error.message.hasSuffix("from 192.0.2.1:443"))
        }
    }

    @Test("An answer cut at any octet is a bad response")
    func cutBody() async throws {
        let whole = RecordedAnswer.aliases.octets
        for length in 0..<whole.count {
            let scripted = try ScriptedDoHService { sent in
                .status(
                    200,
                    to: sent,
                    fields: [.contentType: "application/dns-message"],
                    body: Array(whole.prefix(length))
                )
            }
            do {
                let answer = try await scripted.resolve("c1.test", .v4)
                Issue.record("\(length) octets gave \(answer)")
            } catch let error as HTTPDNSProviderError {
                #expect(error.code == .badResponse)
            }
        }
    }

    @Test("A name of 255 unusual octets does not make a long error")
    func longError() async throws {
        let label = [63] + [UInt8](repeating: 0, count: 63)
        let name = label + label + label + [61] + [UInt8](repeating: 0xff, count: 61) + [0]
        let scripted = try ScriptedDoHService { sent in
            .message(to: sent) { $0.questions = [DNSMessageBuilder.question(name, type: 1)] }
        }
        let error = try #require(await scripted.error(.v4))
        #expect(error.code == .badResponse)
        #expect(error.message.utf8.count < 400)
    }
}

struct DoHFreshnessTests {
    @Test(
        "Age is taken off the TTL, and an invalid Age is ignored",
        arguments: [
            (nil, 60), ("0", 60), ("10", 50), (" 10 ", 50), ("60", 0), ("61", 0), ("4294967296", 0),
            ("99999999999999999999999999", 0), ("-10", 60), ("+10", 60), ("ten", 60), ("1e1", 60), ("10.5", 60),
            ("", 60), ("10, 40", 50), ("x, 40", 60), ("\u{661}", 60),
        ] as [(String?, Int)]
    )
    func age(value: String?, expected: Int) async throws {
        let scripted = try ScriptedDoHService { sent in
            var fields: HTTPFields = [.contentType: "application/dns-message"]
            fields[.age] = value
            return .loopback(to: sent, fields: fields)
        }
        let answer = try await scripted.resolve("one.test", .v4)
        #expect(
            answer.v4
                == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(expected), canonicalName: nil)
        )
    }

    @Test(
        "A max-age shorter than the TTL bounds it, less Age",
        arguments: [
            ("max-age=20", 15), ("max-age=600", 55), ("MAX-AGE=20", 15), ("max-age=\"20\"", 15), ("max-age=0", 55),
            ("public, max-age=20, max-age=30", 15), ("private=\"a, max-age=0, b\", max-age=20", 15),
            ("private=\"a\\\", max-age=0\", max-age=20", 15), ("s-maxage=1", 55), ("max-age", 55), ("max-age=", 55),
            ("max-age=-1", 55), ("max-age=1s", 55), ("max-age=99999999999999999999", 55), ("no-store", 55),
            ("no-cache", 55), ("no-cache, max-age=0", 55), ("max-age=0, max-age=20", 15), ("x-max-age=1", 55),
            ("private=\"max-age=0", 55), (",,,", 55), ("", 55),
        ]
    )
    func maximumAge(value: String, expected: Int) async throws {
        let scripted = try ScriptedDoHService { sent in
            .loopback(to: sent, fields: [.contentType: "application/dns-message", .age: "5", .cacheControl: value])
        }
        let answer = try await scripted.resolve("one.test", .v4)
        #expect(
            answer.v4
                == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(expected), canonicalName: nil)
        )
    }

    @Test("Age is subtracted from the life of an absence too")
    func negativeAge() async throws {
        let scripted = try ScriptedDoHService { sent in
            .message(to: sent, fields: [.contentType: "application/dns-message", .age: "4"]) { builder in
                builder.responseCode = sent.question.type == .a ? 3 : 0
                builder.startOfAuthority("test", timeToLive: 9, minimum: 9)
            }
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .nameError(timeToLive: .seconds(5)))
        #expect(answer.v6 == .noData(timeToLive: .seconds(5)))
    }
}
