// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSMessages
import HTTPTypes
import Testing

private let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)
private let loopback6 = HTTPDNSAddress(family: .v6, high: 0, low: 1)

struct JSONDNSProviderTests {
    @Test("Both families are requested by name and type, and both are answered")
    func bothFamilies() async throws {
        let scripted = try ScriptedJSONService { .jsonLoopback(to: $0) }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil))
        #expect(answer.v6 == .addresses([loopback6], timeToLive: .seconds(60), canonicalName: nil))
        #expect(answer.httpsRecords == nil)
        let targets = Set(scripted.exchange.sent.map(\.request.url.target))
        #expect(targets == ["/resolve?name=one.test&type=1", "/resolve?name=one.test&type=28"])
        for sent in scripted.exchange.sent {
            #expect(sent.request.method == .get && sent.request.body == nil)
            #expect(sent.request.headerFields[.accept] == "application/dns-json")
        }
    }

    @Test(
        "Each service has its own URL and addresses, with or without a client subnet",
        arguments: [
            (HTTPDNSJSONProvider.Service.google, "https://dns.google/resolve", ["8.8.8.8", "8.8.4.4"], true),
            (.cloudflare, "https://cloudflare-dns.com/dns-query", ["1.1.1.1", "1.0.0.1"], false),
            (.alidns, "https://dns.alidns.com/resolve", ["223.5.5.5", "223.6.6.6"], true),
        ]
    )
    func services(service: HTTPDNSJSONProvider.Service, url: String, addresses: [String], takesSubnet: Bool)
        async throws
    {
        let scripted = try ScriptedJSONService(service: service) { _ in
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        #expect(scripted.provider.answerScope == .public)
        await #expect(throws: HTTPDNSProviderError.self) {
            try await scripted.resolve("one.test", .v4, clientSubnet: HTTPDNSAddressBlock("198.51.100.0/24"))
        }
        #expect(scripted.exchange.sent.map(\.endpoint.description) == addresses.map { "\($0):443" })
        let request = try #require(scripted.exchange.sent.first).request
        let subnet = takesSubnet ? "&edns_client_subnet=198.51.100.0/24" : ""
        #expect(request.url.description == "\(url)?name=one.test&type=1\(subnet)")
    }

    @Test(
        "A client subnet is cut to the prefix lengths of RFC 7871",
        arguments: [
            ("198.51.100.7/32", "198.51.100.0/24"), ("198.51.100.0/24", "198.51.100.0/24"),
            ("198.51.0.0/16", "198.51.0.0/16"), ("0.0.0.0/0", "0.0.0.0/0"), ("2001:db8:1:2:3::/80", "2001:db8:1::/56"),
            ("2001:db8::/32", "2001:db8::/32"),
        ]
    )
    func clientSubnet(given: String, sent expected: String) async throws {
        let scripted = try ScriptedJSONService { .jsonLoopback(to: $0) }
        let subnet: HTTPDNSAddressBlock = try #require(HTTPDNSAddressBlock(given))
        _ = try await scripted.resolve("one.test", .v4, clientSubnet: subnet)
        let request = try #require(scripted.exchange.sent.first).request
        #expect(request.parameters["edns_client_subnet"] == expected)
    }

    @Test("A compatible service is asked at its URL, whose own query is kept")
    func ownService() async throws {
        let scripted = try ScriptedJSONService(url: "https://192.0.2.7:8443/dns?tenant=a") { .jsonLoopback(to: $0) }
        _ = try await scripted.resolve("one.test", .v4)
        let sent = try #require(scripted.exchange.sent.first)
        #expect(sent.endpoint.description == "192.0.2.7:8443")
        #expect(sent.request.url.target == "/dns?tenant=a&name=one.test&type=1")
    }

    @Test(
        "Settings that cannot serve are refused with advice",
        arguments: [
            ("https://dns.example/resolve", "give the addresses of the service as bootstrap"),
            ("http://192.0.2.1/resolve", "must begin with https://"), ("192.0.2.1", "its url cannot be used"),
            ("https://me:canary@192.0.2.1/", "user name or password"), ("https://192.0.2.1/#a", "fragment"),
            ("https://192.0.2.1/?name=a", "parameter name"), ("https://192.0.2.1/?a=1&type", "parameter type"),
            ("https://192.0.2.1/?short=1", "parameter short"), ("https://192.0.2.1/?ct=x", "parameter ct"),
        ]
    )
    func refused(url: String, advice: String) throws {
        let error = #expect(throws: HTTPDNSProviderConfigurationError.self) {
            try ScriptedJSONService(url: url) { .jsonLoopback(to: $0) }
        }
        #expect(error?.description.hasPrefix("provider \"json\": ") == true)
        #expect(error?.message.contains(advice) == true, "\(String(describing: error))")
        #expect(error?.message.contains("canary") == false)
    }

    @Test("Age is subtracted and max-age bounds, for addresses and absences")
    func freshness() async throws {
        let scripted = try ScriptedJSONService { sent in
            let fields: HTTPFields = [.age: "5", .cacheControl: "max-age=50"]
            guard sent.question.type == .a else {
                let authority = #"{"name":"test","type":6,"TTL":30,"data":"a b 1 2 3 4 30"}"#
                return .json(to: sent, fields: fields, #""Status":0,"Authority":[\#(authority)]"#)
            }
            return .jsonLoopback(to: sent, fields: fields)
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .addresses([loopback2], timeToLive: .seconds(45), canonicalName: nil))
        #expect(answer.v6 == .noData(timeToLive: .seconds(25)))
    }

    @Test(
        "No status but 200 is an answer, whatever the body has",
        arguments: [
            (204, .httpStatus, nil), (301, .httpStatus, nil), (304, .httpStatus, nil), (400, .httpStatus, nil),
            (401, .httpStatus, nil), (404, .httpStatus, nil), (415, .httpStatus, nil), (429, .rateLimited, 30),
            (500, .httpStatus, 30), (503, .httpStatus, 30),
        ] as [(Int, HTTPDNSProviderError.Code, Int?)]
    )
    func status(status: Int, code: HTTPDNSProviderError.Code, wait: Int?) async throws {
        let scripted = try ScriptedJSONService { sent in
            var reply = UpstreamReply.jsonLoopback(to: sent, fields: [.retryAfter: "30"])
            reply.status = status
            return reply
        }
        let error = try #require(await scripted.error())
        #expect(error.code == code && error.retryAfter == wait.map { .seconds($0) })
        #expect(error.message.hasPrefix("HTTP \(status) from 8.8.8.8:443: ") && !error.message.contains("DoH"))
    }

    @Test("A good answer is accepted with any content type or none")
    func contentTypes() async throws {
        let types = [
            "application/json; charset=UTF-8", "application/dns-json", "text/plain", "application/x-javascript",
        ]
        for type in types {
            let scripted = try ScriptedJSONService { .jsonLoopback(to: $0, fields: [.contentType: type]) }
            #expect(try await scripted.error(.v4) == nil, "\(type)")
        }
        let scripted = try ScriptedJSONService { .jsonLoopback(to: $0) }
        #expect(try await scripted.error(.v4) == nil)
    }

    @Test("A captive portal's page is a bad response with its type, without its text")
    func captivePortal() async throws {
        let scripted = try ScriptedJSONService(
            text: "<html>Log in\u{1b}[2J</html>",
            fields: [.contentType: "text/html;\u{1b}]0;x\u{7}"]
        )
        let error = try #require(await scripted.error())
        #expect(error.code == .badResponse)
        #expect(error.message.contains("captive portal") && error.message.contains("text/html"))
        #expect(error.message.hasSuffix("from 8.8.8.8:443") && !error.message.contains("Log in"))
        #expect(error.message.utf8.allSatisfy { (0x20...0x7e).contains($0) })
    }

    @Test(
        "A server failure is its family's own outcome, with the service's comment",
        arguments: [
            (2, "", .serverFailure, ": the service could not find an answer"),
            (2, #","Comment":"lame\ndelegation""#, .serverFailure, " (lame?delegation)"),
            (5, #","Comment":["a","b",7]"#, .refused, " (a; b)"), (5, #","Comment":[]"#, .refused, "to this client"),
        ] as [(Int, String, HTTPDNSProviderError.Code, String)]
    )
    func failures(status: Int, comment: String, code: HTTPDNSProviderError.Code, text: String) async throws {
        let scripted = try ScriptedJSONService { .json(to: $0, "\"Status\":\(status)\(comment)") }
        guard case .failed(let error) = try await scripted.resolve("one.test", .v4).v4 else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == code && error.message.hasSuffix(text), "\(error)")
    }

    @Test("A failed family does not fail the other")
    func partialFailure() async throws {
        let scripted = try ScriptedJSONService { sent in
            sent.question.type == .a ? .jsonLoopback(to: sent) : .json(to: sent, #""Status":0,"Answer":7"#)
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil))
        guard case .failed(let error) = answer.v6 else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .badResponse && error.message.contains("\"Answer\" is a number"))
    }

    @Test("After shutdown nothing is sent, and queries throw shutDown")
    func shutdown() async throws {
        let scripted = try ScriptedJSONService { .jsonLoopback(to: $0) }
        await scripted.provider.shutdown()
        #expect(try await scripted.error()?.code == .shutDown)
        #expect(scripted.exchange.sent.isEmpty && scripted.exchange.isShutDown)
    }
}
