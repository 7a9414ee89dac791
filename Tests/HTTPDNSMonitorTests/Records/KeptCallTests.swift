// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct KeptCallTests {
    @Test("A record that is made when it is read equals one that is made at once")
    func made() async throws {
        let fields = "Set-Cookie: a=canary\r\nX-Note: Bearer abcdefghijklmnop\r\n"
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /next?token=canary\r\nContent-Length: 0\r\n\r\n"
        let server = try RawServer(
            .readHead,
            .respond("hello", fields: fields),
            .readHead,
            .respond("hello"),
            .readHead,
            .sendText(redirect),
            .readHead,
            .respond("hello", fields: fields),
            .readHead,
            .hang
        )
        let stubs = HTTPDNSStubs(unmatched: .pass)
        stubs.on(.get, path: "/stub").respond(.text("in process"))
        let monitored = try await MonitoredClient(["one.test": server.port]) {
            $0.networkInterceptors = [stubs]
            $0.allowsCleartextCredentials = true
        }
        let atOnce = try Monitor(.with { $0.edit = { _ in true } })
        atOnce.start(on: monitored.client)
        var request = HTTPDNSClient.Request(url: "http://one.test/a;b=c?q=1#fragment")
        request.headerFields[.authorization] = "Bearer canary"
        await monitored.call(request)
        await monitored.get("http://user:canary@one.test/b?password=canary")
        await monitored.get("http://one.test/moved")
        await monitored.get("http://one.test/stub")
        await monitored.get("http://none.invalid/")
        // Their start is rounded to milliseconds by each monitor.
        func records(_ monitor: Monitor) -> [Monitor.Record] {
            monitor.records.map { record in
                var record = record
                record.startTime = 0
                return record
            }
        }
        let read = records(monitored.monitor)
        #expect(read.map(\.hops.count) == [1, 1, 2, 1, 1])
        let json = String(decoding: try JSONEncoder().encode(read), as: UTF8.self)
        #expect(!json.contains("canary") && !json.contains("abcdefghijklmnop") && json.contains("(redacted)"))
        #expect(read == records(atOnce) && read == records(monitored.monitor))
    }

    /// Keeps the calls with their details.
    private final class Calls: DetailedObserver {
        let all = Journal<HTTPDNSClient.CallRecord>()
        var bodyLimit: Int? { 0 }

        func callEnded(_ call: HTTPDNSClient.CallRecord) { all.write(call) }
    }

    @Test("A call that waits for a reader has no value of a field with the name of a secret")
    func cut() async throws {
        let plain = "X-Plain: one\r\n"
        let secret = "X-Plain: one\r\nset-cookie: a=canary\r\nX-Api-Key: canary\r\n"
        let server = try RawServer(
            .readHead,
            .respond("hello", fields: plain),
            .readHead,
            .respond("hello", fields: secret),
            .readHead,
            .respond("hello", fields: plain),
            .readHead,
            .respond("hello", fields: secret),
            .hang
        )
        let (monitored, calls) = (try await MonitoredClient(["one.test": server.port]), Calls())
        monitored.client.addObserver(calls)
        for _ in 0..<4 {
            var request = HTTPDNSClient.Request(url: "http://one.test/")
            request.headerFields[.authorization] = "Bearer canary"
            request.headerFields[.accept] = "*/*"
            await monitored.call(request)
        }
        let names: [HTTPField.Name?] = [HTTPField.Name("X-Plain"), .setCookie, HTTPField.Name("X-Api-Key")]
        for (number, call) in calls.all.all.enumerated() {
            var call = call
            call.cutSecrets(by: .standard)
            let messages = try #require(call.hops.first?.messages)
            #expect(call.details == nil && messages.requestFields[.accept] == "*/*")
            #expect(messages.requestFields[.authorization] == "(redacted)")
            let values = names.map { name in name.flatMap { messages.response?.headerFields[$0] } }
            #expect(values == (number % 2 == 0 ? ["one", nil, nil] : ["one", "(redacted)", "(redacted)"]))
        }
        #expect(calls.all.all.count == 4)
    }

    @Test(
        "Only a call whose URL has no secret may wait for a reader",
        arguments: [
            ("http://one.test/a?q=1", true), ("http://one.test/a?token=1", false), ("http://u:p@one.test/", false),
            ("http://one.test/#token", false), ("http://one.test/;jsessionid=1", false),
        ]
    )
    func urls(_ url: String, mayWait: Bool) async throws {
        let server = try RawServer(.serve("hello"))
        let (monitored, calls) = (try await MonitoredClient(["one.test": server.port]), Calls())
        monitored.client.addObserver(calls)
        await monitored.get(url)
        let call = try #require(calls.all.all.first)
        let maker = RecordMaker(Monitor.Settings(), clock: .system)
        #expect(maker.mayKeep(maker.ended(call, try #require(call.details))) == mayWait)
    }

    /// The interceptor moves a key from the URL into a field, or ends the call.
    private struct Moving: HTTPDNSClient.Interceptor {
        let cancels: Bool

        func intercept(_ request: HTTPDNSClient.Request, context: HTTPDNSClient.InterceptionContext, next: Next)
            async throws -> HTTPDNSClient.Response
        {
            if cancels { throw CancellationError() }
            return try await next(HTTPDNSClient.Request(url: "http://one.test/"), context)
        }
    }

    @Test("A secret in the caller's URL counts, whatever an interceptor makes of it", arguments: [true, false])
    func changedURL(cancels: Bool) async throws {
        let (server, calls) = (try RawServer(.serve("hello")), Calls())
        let monitored = try await MonitoredClient(["one.test": server.port]) {
            $0.applicationInterceptors = [Moving(cancels: cancels)]
        }
        monitored.client.addObserver(calls)
        await monitored.get("http://one.test/?api_key=canary")
        let call = try #require(calls.all.all.first)
        let maker = RecordMaker(Monitor.Settings(), clock: .system)
        #expect(!maker.mayKeep(maker.ended(call, try #require(call.details))))
        #expect(call.url == "http://one.test/" && call.outcome == (cancels ? .canceled : .finished))
    }

    @Test("The estimate of a call that waits for a reader is no less than its fields")
    func estimate() async throws {
        let long = String(repeating: "a", count: 5000)
        let server = try RawServer(.serve("hello"))
        let monitored = try await MonitoredClient(["one.test": server.port])
        var request = HTTPDNSClient.Request(url: "http://one.test/")
        request.headerFields[.userAgent] = long
        await monitored.call(request)
        #expect(monitored.monitor.storedBytes > .bytes(6000) && monitored.monitor.storedBytes < .bytes(16_000))
    }
}
