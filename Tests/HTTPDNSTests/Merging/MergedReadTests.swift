// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// Which calls share a request, on a scripted wire that holds its responses until a gate opens.
struct MergedReadTests {
    private static let url = "https://one.test/a?b=1"

    /// A key with a value of its own: no call with one is merged.
    private enum Job: HTTPDNSClient.RequestProperty {
        typealias Value = String
    }

    /// Calls, and the number of requests that they need.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let requests: Int
        let calls: [HTTPDNSClient.Request]

        init(_ description: String, requests: Int, _ calls: HTTPDNSClient.Request...) {
            (testDescription, self.requests, self.calls) = (description, requests, calls)
        }
    }

    private static func request(
        _ url: String = MergedReadTests.url,
        _ method: HTTPRequest.Method = .get,
        _ fields: HTTPFields = [:],
        _ change: (inout HTTPDNSClient.Request) -> Void = { _ in }
    ) -> HTTPDNSClient.Request {
        var request = HTTPDNSClient.Request(method: method, url: url, headerFields: fields)
        change(&request)
        return request
    }

    private static func changed(_ change: @escaping HTTPDNSClient.Request.Options.Change) -> HTTPDNSClient.Request {
        HTTPDNSClient.Request(url: url, change)
    }

    static let cases: [Case] = [
        Case("equal", requests: 1, request(), request()),
        Case("HEAD", requests: 1, request(url, .head), request(url, .head)),
        Case("GET and HEAD", requests: 2, request(), request(url, .head)),
        Case("POST", requests: 2, request(url, .post), request(url, .post)),
        Case("DELETE", requests: 2, request(url, .delete), request(url, .delete)),
        Case("two spellings of one URL", requests: 1, request("HTTPS://ONE.test:443/a?b=1"), request()),
        Case("another query", requests: 2, request("https://one.test/a?b=2"), request()),
        Case("another fragment", requests: 1, request(url + "#x"), request()),
        Case("another user", requests: 2, request("https://u:p@one.test/a?b=1"), request()),
        Case("a trailing dot", requests: 2, request("https://one.test./a?b=1"), request()),
        Case(
            "Authorization",
            requests: 2,
            request(url, .get, [.authorization: "Bearer 1"]),
            request(url, .get, [.authorization: "Bearer 2"])
        ),
        Case("Cookie", requests: 2, request(url, .get, [.cookie: "a=1"]), request(url, .get, [.cookie: "a=2"])),
        Case("a field that one lacks", requests: 2, request(url, .get, [.accept: "*/*"]), request()),
        Case(
            "fields in another order",
            requests: 1,
            request(url, .get, [.accept: "*/*", .userAgent: "t"]),
            request(url, .get, [.userAgent: "t", .accept: "*/*"])
        ),
        Case(
            "values of one field in another order",
            requests: 2,
            request(url, .get, [.accept: "a", .accept: "b"]),
            request(url, .get, [.accept: "b", .accept: "a"])
        ),
        Case("another timeout", requests: 1, changed { $0.timeouts.total = .seconds(90) }, request()),
        Case("other addresses", requests: 2, changed { $0.addresses = .only(["203.0.113.9"]) }, request()),
        Case("another version", requests: 2, changed { $0.versions = .http1Only }, request()),
        Case("another limit", requests: 2, changed { $0.maximumResponseBody = .bytes(9) }, request()),
        Case("other redirects", requests: 2, changed { $0.redirects = .off }, request()),
        Case(
            "another credential",
            requests: 2,
            changed { $0.credential = .basic(user: "a", password: HTTPDNSSecret { "b" }) },
            request()
        ),
        Case("another body", requests: 2, request { $0.body = .bytes([1]) }, request { $0.body = .bytes([1]) }),
        Case(
            "a connection without a request",
            requests: 2,
            changed { $0.stopsBeforeSending = true },
            changed { $0.stopsBeforeSending = true }
        ),
        Case("off", requests: 2, changed { $0.mergesIdenticalReads = false }, request()),
        Case("on", requests: 1, changed { $0.mergesIdenticalReads = true }, request()),
        Case(
            "interim responses",
            requests: 2,
            request { $0.onInterimResponse = { _ in } },
            request { $0.onInterimResponse = { _ in } }
        ),
        Case(
            "properties",
            requests: 2,
            request { $0[Job.self] = "a" },
            request { $0[Job.self] = "a" }
        ),
        Case(
            "interceptors",
            requests: 2,
            request { $0.networkInterceptors = [Around { try await $2($0, $1) }] },
            request { $0.networkInterceptors = [Around { try await $2($0, $1) }] }
        ),
    ]

    @Test("Calls share a request when all that matters is equal, and no others do", arguments: cases)
    func keys(_ calls: Case) async throws {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { $0.mergesIdenticalReads = true }
        // A call whose request is not sent yet has joined another one.
        let tasks = calls.calls.map { request in Task { try await rig.client.execute(request).text() } }
        while rig.wire.requests.count + (calls.calls.count - calls.requests) < calls.calls.count
            || rig.client.pipeline.reads.waiting + unshared(calls) < calls.calls.count
        { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        #expect(rig.wire.requests.count == calls.requests)
        #expect(rig.client.mergedReads == calls.calls.count - calls.requests && rig.client.sharedReads == 0)
    }

    /// The number of calls that do not pass the step.
    private func unshared(_ calls: Case) -> Int {
        var options = HTTPDNSClient.Request.Options()
        options.mergesIdenticalReads = true
        let base = HTTPDNSClient.Request.SharedOptions(options)
        return calls.calls.count { request in
            let (own, options) = (request.own, request.resolved(from: base).options)
            return request.method != .get && request.method != .head || !request.body.isEmpty
                || !options.mergesIdenticalReads || options.stopsBeforeSending
                || own?.onInterimResponse != nil
                || own?.properties.isEmpty == false || own?.interceptors.isEmpty == false
        }
    }

    @Test("Without the setting no call is merged, unless its request asks for it", arguments: [false, true])
    func offByDefault(isAsked: Bool) async throws {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate))
        let request = Self.changed { if isAsked { $0.mergesIdenticalReads = true } }
        let tasks = (0..<3).map { _ in Task { try await rig.client.execute(request).text() } }
        while rig.wire.requests.count < (isAsked ? 1 : 3) || rig.client.pipeline.reads.waiting < (isAsked ? 3 : 0) {
            await Task.yield()
        }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        #expect(rig.wire.requests.count == (isAsked ? 1 : 3))
    }

    @Test("Each call has its own copy of the body, and its exchange says who sent")
    func copies() async throws {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { $0.mergesIdenticalReads = true }
        let tasks = try await rig.calls(4, to: Self.url)
        gate.open()
        var merged = 0
        for task in tasks {
            let response = try await task.value
            #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
            await #expect(throws: HTTPDNSClientError.self) { try await response.body.collect(upTo: .bytes(5)) }
            #expect(response.exchanges.count == 1 && response.exchanges[0].remote.address.description == "203.0.113.1")
            if response.exchanges[0].isMerged { merged += 1 }
        }
        #expect(merged == 3 && rig.client.mergedReads == 3)
    }

    @Test("A call after the response sends a request of its own")
    func afterwards() async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .sized(request) }) { $0.mergesIdenticalReads = true }
        for _ in 0..<3 { #expect(try await rig.client.get(Self.url).exchanges[0].isMerged == false) }
        #expect(rig.wire.requests.count == 3 && rig.client.sharedReads == 0)
    }

    @Test("Calls with a rewritten request send each a request of its own, to its addresses")
    func rewritten() async throws {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { $0.mergesIdenticalReads = true }
        let rewritten = try await rig.client.rewrite(Self.url)
        let tasks = (0..<2).map { _ in Task { try await rig.client.execute(rewritten).text() } }
        while rig.wire.requests.count + rig.client.pipeline.reads.waiting < 2 { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        #expect(rig.wire.requests.count == 2)
    }

    @Test(
        "Calls around a change of mappings, settings or interceptors share no request",
        arguments: ["mapping", "switch", "reload", "interceptor"]
    )
    func changes(what: String) async throws {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { $0.mergesIdenticalReads = true }
        let before = try await rig.calls(1, to: Self.url)
        switch what {
        case "mapping":
            try rig.client.mappings.apply { $0["one.test"] = .addresses(["203.0.113.77"]) }
        case "switch": rig.client.killSwitch.turnOff()
        case "interceptor": rig.client.interceptors.addNetworkInterceptor(Around { try await $2($0, $1) })
        default:
            var configuration = rig.configuration
            configuration.headers.fields = [.userAgent: "new"]
            _ = try await rig.client.reload(configuration)
        }
        let after = Task { try await rig.client.get(Self.url) }
        while rig.wire.requests.count < 2, what != "switch" { await Task.yield() }
        gate.open()
        _ = try await before[0].value
        if what != "switch" {
            let response = try await after.value
            #expect(!response.exchanges[0].isMerged)
            if what == "mapping" { #expect(response.exchanges[0].remote.address.description == "203.0.113.77") }
        } else {
            // The system resolver does not know the name.
            await #expect(throws: HTTPDNSClientError.self) { try await after.value }
        }
    }

    /// Fields of a response that is for one call, with a status.
    static let personalHeads: [(status: Int, fields: HTTPFields)] = [
        (200, [.setCookie: "session=a"]), (200, [HTTPField.Name("Set-Cookie2")!: "session=a"]),
        (404, [.setCookie: "session=a", .cacheControl: "public, max-age=60"]), (200, [.cacheControl: "private"]),
        (200, [.cacheControl: "max-age=60, Private=\"x\""]), (200, [.cacheControl: "no-store"]),
        (200, [.vary: "Accept, *"]), (401, [.wwwAuthenticate: "Digest realm=\"a\", nonce=\"b\""]),
    ]

    @Test("A response that is for one user reaches its own caller alone", arguments: personalHeads)
    func personal(status: Int, fields: HTTPFields) async throws {
        let (gate, hung, all) = (Gate(), Gate(), Gate())
        let wire = ScriptedWire { request, number in
            if number == 0 { await gate.passage() }
            if number == 5 { await hung.passage() }
            if number < 5, number > 0 {
                // All of the others are sent, before one of them has its response.
                if number == 4 { all.open() }
                await all.passage()
            }
            var fields = fields
            fields[.contentLength] = "1"
            return .ok(from: request, status: .init(code: status), fields: fields, chunks: [Array("\(number)".utf8)])
        }
        let rig = try Rig(wire: wire) { $0.mergesIdenticalReads = true }
        let tasks = try await rig.calls(5, to: Self.url)
        gate.open()
        var bodies: Set<String> = []
        for task in tasks {
            let response = try await task.value
            #expect(!response.exchanges[0].isMerged)
            bodies.insert(try await response.text())
        }
        #expect(bodies == ["0", "1", "2", "3", "4"] && rig.client.mergedReads == 0)
        // From then on a response that does not come delays no other call.
        let slow = Task { try await rig.client.get(Self.url).text() }
        while wire.requests.count < 6 { await Task.yield() }
        #expect(try await rig.client.get(Self.url).text() == "6")
        hung.open()
        #expect(try await slow.value == "5")
    }

    @Test("A key whose responses become shareable is shared again")
    func sharedAgain() async throws {
        let gate = Gate()
        let wire = ScriptedWire { request, number in
            if number > 1 { await gate.passage() }
            return .sized(request, fields: number == 0 ? [.cacheControl: "no-store"] : [:])
        }
        let rig = try Rig(wire: wire) { $0.mergesIdenticalReads = true }
        for _ in 0..<2 { #expect(try await rig.client.get(Self.url).text() == "hello") }
        let tasks = (0..<3).map { _ in Task { try await rig.client.get(Self.url).text() } }
        while rig.client.pipeline.reads.waiting < 3 { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        #expect(wire.requests.count == 3)
    }

    @Test(
        "A credential that is added to a shared request needs the server's permission",
        arguments: [nil, "max-age=60", "public", "s-maxage=60", "max-age=60, must-revalidate"],
        [HTTPField.Name.authorization, .cookie]
    )
    func addedCredential(control: String?, name: HTTPField.Name) async throws {
        let gate = Gate()
        let wire = ScriptedWire { request, _ in
            await gate.passage()
            return .sized(request, fields: control.map { [.cacheControl: $0] } ?? [:])
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.networkInterceptors = [Around.before { $0.headerFields[name] = "a=1" }]
        }
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        for task in tasks { #expect(try await task.value.text() == "hello") }
        let isPermitted = control != nil && control != "max-age=60"
        #expect(wire.requests.count == (isPermitted ? 1 : 3))
    }

    @Test("Redirects and retries happen once for all calls")
    func hops() async throws {
        let gate = Gate()
        let wire = ScriptedWire { request, number in
            switch number {
            case 0:
                await gate.passage()
                return .sized(request, status: .found, fields: [.location: "/next"])
            case 1: return .sized(request, status: .serviceUnavailable)
            default: return .sized(request)
            }
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.retries = HTTPDNSClient.RetryPolicy()
            configuration.retries.delay = .zero
        }
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        for task in tasks {
            let response = try await task.value
            #expect(response.status == .ok && response.exchanges.count == 3)
        }
        #expect(wire.requests.count == 3)
    }
}
