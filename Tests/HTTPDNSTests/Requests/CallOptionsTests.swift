// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// The client's options, as one call changes them.
struct CallOptionsTests {
    private static let url = "https://one.test/"

    @Test("A call has the client's options, except what it changes")
    func precedence() async throws {
        let rig = try Rig {
            $0.maximumResponseBody = .kibibytes(1)
            $0.versions = .http1Only
            $0.timeouts.idle = .seconds(7)
        }
        _ = try await rig.client.get(Self.url) { $0.rolloutKey = "so that it has options of its own" }
        _ = try await rig.client.get(Self.url) { options in
            options.maximumResponseBody = nil
            options.versions = .automatic
        }
        _ = try await rig.client.get(Self.url) { options in
            options.maximumResponseBody = .bytes(5)
            options.timeouts.idle = .seconds(3)
            options.timeouts.connect = nil
        }
        #expect(rig.wire.requests.map(\.limits.maximumResponseBytes) == [1024, nil, 5])
        #expect(rig.wire.requests.map(\.versions) == [.http1Only, .automatic, .http1Only])
        #expect(rig.wire.requests.map(\.limits.idle) == [.seconds(7), .seconds(7), .seconds(3)])
        #expect(rig.wire.requests.map(\.limits.connect) == [.seconds(5), .seconds(5), nil])
    }

    @Test("A policy is the client's, and with .off the first response counts")
    func policies() async throws {
        let wire = ScriptedWire { request, _ in
            request.url.target == "/old"
                ? .redirect(302, to: "/busy", from: request) : .ok(from: request, status: .badGateway)
        }
        let rig = try Rig(wire: wire) {
            $0.retries = .standard
            $0.retries.delay = .zero
            $0.retries.limit = 1
        }
        var request = HTTPDNSClient.Request(url: "https://one.test/old") { $0.rolloutKey = "options of its own" }
        #expect(try await rig.client.execute(request).status == .badGateway && rig.wire.requests.count == 3)
        request.changeOptions { $0.retries = .off }
        #expect(try await rig.client.execute(request).status == .badGateway && rig.wire.requests.count == 5)
        request.changeOptions { $0.redirects = .off }
        #expect(try await rig.client.execute(request).status.code == 302 && rig.wire.requests.count == 6)
    }

    @Test("A closure runs once per call, on the settings in use at its start", arguments: [false, true])
    func once(isIntercepted: Bool) async throws {
        let wire = ScriptedWire { request, _ in
            request.url.target == "/"
                ? .redirect(302, to: "/busy", from: request) : .ok(from: request, status: .badGateway)
        }
        let rig = try Rig(wire: wire) {
            $0.retries = .standard
            $0.retries.delay = .zero
            $0.timeouts.idle = .seconds(7)
            if isIntercepted { $0.networkInterceptors = [Around { try await $2($0, $1) }] }
        }
        let seen = Lock<[Duration?]>([])
        let request = HTTPDNSClient.Request(url: Self.url) { options in
            seen.withLock { $0.append(options.timeouts.idle) }
            options.timeouts.idle = .seconds(3)
        }
        _ = try await rig.client.execute(request)
        #expect(seen.withLock { $0 } == [.seconds(7)] && rig.wire.requests.count == 4)
        #expect(rig.wire.requests.allSatisfy { $0.limits.idle == .seconds(3) })
        var settings = rig.configuration
        settings.timeouts.idle = .seconds(9)
        _ = try await rig.client.reload(settings)
        _ = try await rig.client.execute(request)
        #expect(seen.withLock { $0 } == [.seconds(7), .seconds(9)])
    }

    @Test("A reload changes the options of later calls only", arguments: [false, true])
    func reload(changesOptions: Bool) async throws {
        let (arrived, goes) = (Gate(), Gate())
        let wire = ScriptedWire { request, _ in
            guard request.url.target == "/" else { return .ok(from: request) }
            arrived.open()
            await goes.passage()
            return .redirect(302, to: "/next", from: request)
        }
        let rig = try Rig(wire: wire) { $0.versions = .http1Only }
        let idle: HTTPDNSClient.Request.Options.Change = { $0.timeouts.idle = .seconds(3) }
        let change = changesOptions ? idle : nil
        let first = Task { try await rig.client.get(Self.url, change) }
        await arrived.passage()
        var settings = rig.configuration
        settings.versions = .http2Only
        settings.redirects = .off
        _ = try await rig.client.reload(settings)
        goes.open()
        #expect(try await first.value.status == .ok)
        #expect(rig.wire.requests.map(\.versions) == [.http1Only, .http1Only])
        #expect(try await rig.client.get(Self.url, change).status.code == 302)
        #expect(rig.wire.requests.last?.versions == .http2Only)
    }

    @Test("An interceptor sees the options of the call, and may change them")
    func intercepted() async throws {
        let seen = Lock<[HTTPDNSClient.Request.Options]>([])
        let interceptor = Around.before { request in
            seen.withLock { $0.append(request.options) }
            request.changeOptions { $0.timeouts.idle = ($0.timeouts.idle ?? .zero) + .seconds(1) }
        }
        let rig = try Rig {
            $0.timeouts.idle = .seconds(7)
            $0.versions = .http1Only
            $0.applicationInterceptors = [interceptor]
            $0.networkInterceptors = [interceptor]
        }
        _ = try await rig.client.get(Self.url)
        _ = try await rig.client.get(Self.url) { $0.timeouts.idle = .seconds(2) }
        #expect(seen.withLock { $0.map(\.timeouts.idle) } == [7, 8, 2, 3].map { .seconds($0) })
        #expect(seen.withLock { $0.allSatisfy { $0.versions == .http1Only } })
        #expect(rig.wire.requests.map(\.limits.idle) == [.seconds(9), .seconds(4)])
    }

    @Test(
        "A new request has the options of its call, and those of an origin stay with it",
        arguments: ["https://one.test/new", "https://map.test/new"],
        [true, false]
    )
    func newRequest(url: String, isOfCall: Bool) async throws {
        let interceptor = Around { _, context, next in
            try await next(HTTPDNSClient.Request(url: url) { $0.timeouts.connect = .seconds(1) }, context)
        }
        let rig = try Rig {
            if isOfCall { $0.applicationInterceptors = [interceptor] } else { $0.networkInterceptors = [interceptor] }
        }
        _ = try await rig.client.get(Self.url) { options in
            options.timeouts.idle = .seconds(3)
            options.hostHeader = "virtual.test"
            options.addresses = .only(["203.0.113.9"])
        }
        let sent = try #require(rig.wire.requests.first)
        let isSameOrigin = url.hasPrefix(Self.url)
        #expect(sent.limits.idle == .seconds(3) && sent.limits.connect == .seconds(1))
        #expect(sent.hostHeader == (isSameOrigin ? "virtual.test" : nil))
        #expect(sent.endpoints.first?.address.description == (isSameOrigin ? "203.0.113.9" : "203.0.113.7"))
    }

    @Test("A new request has none of an origin that an outer interceptor has left")
    func movedBefore() async throws {
        let moves = Around.before { request in
            request.url = "https://map.test/"
            request.changeOptions { $0.forgetOrigin() }
        }
        let renews = Around { try await $2(HTTPDNSClient.Request(url: $0.url), $1) }
        let rig = try Rig {
            $0.applicationInterceptors = [moves]
            $0.networkInterceptors = [renews]
        }
        _ = try await rig.client.get(Self.url) { options in
            options.hostHeader = "virtual.test"
            options.addresses = .only(["203.0.113.9"])
        }
        let sent = try #require(rig.wire.requests.first)
        #expect(sent.hostHeader == nil && sent.endpoints.first?.address.description == "203.0.113.7")
    }

    @Test("A redirect hook's request has the options of the redirected one")
    func hooked() async throws {
        let wire = ScriptedWire { request, _ in
            request.url.target == "/" ? .redirect(302, to: "/next", from: request) : .ok(from: request)
        }
        let interceptor = Around.before { request in
            request.changeOptions { $0.timeouts.connect = .seconds(1) }
        }
        let rig = try Rig(wire: wire) {
            $0.applicationInterceptors = [interceptor]
            $0.redirectHook = { _ in .change(HTTPDNSClient.Request(url: "https://one.test/other")) }
        }
        _ = try await rig.client.get(Self.url) { $0.timeouts.idle = .seconds(3) }
        #expect(rig.wire.requests.map(\.limits.idle) == [.seconds(3), .seconds(3)])
        #expect(rig.wire.requests.map(\.limits.connect) == [.seconds(1), .seconds(1)])
    }

    @Test("A call that leaves the client's Unix socket does not return to it", arguments: [nil, "/run/own.sock"])
    func socket(own: String?) async throws {
        let wire = ScriptedWire { request, _ in
            request.url.target == "/"
                ? .redirect(302, to: "http://two.test/next", from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire) { $0.unixSocket = "/run/client.sock" }
        _ = try await rig.client.get("http://one.test/") { $0.unixSocket = own }
        let next = own == nil ? nil : "/run/client.sock"
        #expect(rig.wire.requests.map { $0.egressPath?.unixSocket } == [own, next])
    }

    @Test("A request that begins another call has the options of that client")
    func ownCall() async throws {
        let other = try Rig { $0.timeouts.idle = .seconds(9) }
        let client = other.client
        let interceptor = Around { request, _, _ in try await client.execute(request) }
        let rig = try Rig {
            $0.timeouts.idle = .seconds(7)
            $0.networkInterceptors = [interceptor]
        }
        _ = try await rig.client.get(Self.url)
        _ = try await rig.client.get(Self.url) { $0.timeouts.connect = .seconds(1) }
        #expect(other.wire.requests.map(\.limits.idle) == [.seconds(9), .seconds(9)])
        #expect(other.wire.requests.map(\.limits.connect) == [.seconds(5), .seconds(1)])
    }

    private static func wait(for request: HTTPDNSClient.Request, _ client: HTTPDNSClient) throws {
        _ = try client.executeAndWait(request)
    }

    @Test("A closure runs once in a blocking call, a download and a preconnect")
    func onceElsewhere() async throws {
        let folder = try TemporaryFolder()
        let rig = try Rig()
        let count = Lock(0)
        let request = HTTPDNSClient.Request(url: Self.url) { _ in count.withLock { $0 += 1 } }
        _ = try await rig.client.download(request, to: folder.path("a"))
        #expect(count.withLock { $0 } == 1)
        _ = try await rig.client.download(request, to: folder.path("b"), existingFile: .resume)
        #expect(count.withLock { $0 } == 2)
        let client = rig.client
        try Self.wait(for: request, client)
        #expect(count.withLock { $0 } == 3)
        _ = await clientError { try await rig.client.preconnect(to: Self.url) { _ in count.withLock { $0 += 1 } } }
        #expect(count.withLock { $0 } == 4)
    }

    @Test("A call without time left times out, and a phase without time is refused")
    func noTime() async throws {
        let rig = try Rig()
        for total in [Duration.zero, .seconds(-1)] {
            let error = await clientError { try await rig.client.get(Self.url) { $0.timeouts.total = total } }
            #expect(error?.code == .timedOut && error?.requestMayHaveBeenSent == false)
        }
        let error = await clientError { try await rig.client.get(Self.url) { $0.timeouts.idle = .zero } }
        #expect(error?.code == .invalidRequest && error?.message.contains("timeouts.idle") == true)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A request that belongs to no call shows the defaults, with its own changes")
    func unsent() {
        var request = HTTPDNSClient.Request(url: Self.url)
        #expect(request.options == HTTPDNSClient.Request.Options())
        request.changeOptions { $0.redirects = .off }
        request.changeOptions { $0.priority = .low }
        #expect(request.options.redirects == .off && request.options.priority == .low)
        #expect(request.options.timeouts == HTTPDNSClient.Timeouts())
    }
}
