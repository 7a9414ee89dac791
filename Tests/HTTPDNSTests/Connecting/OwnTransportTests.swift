// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Synchronization
import Testing

/// A transport that answers as a test says, and keeps its hops.
private final class OwnTransport: HTTPDNSTransport {
    typealias Script = @Sendable (HTTPDNSHop, Int) async throws -> HTTPDNSHop.Response

    private let state = Mutex((hops: [HTTPDNSHop](), shutdowns: 0))
    /// Called by the client's shutdown.
    let onShutdown: @Sendable () async -> Void
    private let script: Script

    init(onShutdown: @escaping @Sendable () async -> Void = {}, _ script: @escaping Script) {
        self.onShutdown = onShutdown
        self.script = script
    }

    var hops: [HTTPDNSHop] { state.withLock { $0.hops } }
    var shutdowns: Int { state.withLock { $0.shutdowns } }

    func send(_ hop: HTTPDNSHop) async throws -> HTTPDNSHop.Response {
        let number = state.withLock { state in
            state.hops.append(hop)
            return state.hops.count - 1
        }
        return try await script(hop, number)
    }

    func shutdown() async {
        await onShutdown()
        state.withLock { $0.shutdowns += 1 }
    }

    /// A client on it, with two addresses for `one.test`.
    func client(_ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("one.test"): .addresses(["203.0.113.1", "203.0.113.2"])
        ]
        try change(&configuration)
        return try await HTTPDNSClient(configuration: configuration, on: self)
    }
}

/// A body of chunks of one byte: of `length` ones, or of one and another that never comes.
private struct Bytes: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        let body: Bytes
        var count = 0

        mutating func next() async throws -> [UInt8]? {
            count += 1
            if let length = body.length { return count > length ? nil : [1] }
            if count > 1 {
                body.onWait()
                try await Task.sleep(for: .seconds(3600))
            }
            return [1]
        }
    }

    var length: Int?
    var onWait: @Sendable () -> Void = {}

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }
}

struct OwnTransportTests {
    @Test("A hop has name, authority, fields, body and the resolved addresses")
    func hop() async throws {
        let transport = OwnTransport { hop, _ in
            var received: [UInt8] = []
            for try await chunk in hop.body { received += chunk }
            return HTTPDNSHop.Response(
                HTTPResponse(status: .created),
                from: hop.endpoints[0],
                body: received.reversed()
            )
        }
        let client = try await transport.client()
        let response = try await client.post(
            "https://One.test:8443/a?b=c#d",
            headerFields: [.contentType: "text/plain"],
            body: .bytes([1, 2, 3])
        )
        #expect(response.status == .created)
        #expect(try await response.body.collect() == [3, 2, 1])
        let hop = try #require(transport.hops.first)
        #expect(hop.method == .post && hop.url == "https://one.test:8443/a?b=c")
        #expect(hop.serverName == "one.test" && hop.authority == "one.test:8443")
        #expect(hop.body.length == 3)
        #expect(hop.headerFields[.contentType] == "text/plain")
        #expect(hop.headerFields[.acceptEncoding]?.contains("gzip") == true)
        #expect(Set(hop.endpoints.map(\.description)) == ["203.0.113.1:8443", "203.0.113.2:8443"])
        try await client.shutdown()
        try await client.shutdown()
        #expect(transport.shutdowns == 1)
    }

    @Test("A request is sent again if its transport says that it is unsent", arguments: [true, false])
    func retries(isUnsent: Bool) async throws {
        let transport = OwnTransport { hop, number in
            if number == 0 { throw HTTPDNSTransportError("no luck", isUnsent: isUnsent) }
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        let client = try await transport.client { $0.options.retries = .standard }
        do {
            let response = try await client.post("http://one.test/", body: .bytes([1]))
            #expect(isUnsent && response.status == .ok)
        } catch let error as HTTPDNSClientError {
            #expect(!isUnsent && error.requestMayHaveBeenSent && error.message.contains("no luck"))
        }
        #expect(transport.hops.count == (isUnsent ? 2 : 1))
        try await client.shutdown()
    }

    @Test("A slow transport is given up at the limit of the call", arguments: [true, false])
    func limits(hasHead: Bool) async throws {
        let transport = OwnTransport { hop, _ in
            if !hasHead { try await Task.sleep(for: .seconds(3600)) }
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: Bytes())
        }
        let client = try await transport.client()
        let error = await #expect(throws: HTTPDNSClientError.self) {
            try await client.get("http://one.test/") { $0.timeouts.total = .milliseconds(200) }.body.collect()
        }
        #expect(error?.code == .timedOut)
        try await client.shutdown()
    }

    @Test("The time for the head begins when the transport has read the body", arguments: [Int64?.some(1), nil])
    func headAfterBody(length: Int64?) async throws {
        let transport = OwnTransport { hop, _ in
            for try await _ in hop.body {}
            try await Task.sleep(for: .seconds(3600))
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        let client = try await transport.client()
        let oneByte = Bytes(length: 1)
        let error = await #expect(throws: HTTPDNSClientError.self) {
            try await client.post("http://one.test/", body: .stream(length: length, oneByte)) {
                $0.timeouts.firstByte = .milliseconds(100)
            }
        }
        #expect(error?.code == .timedOut && error?.phase == .firstByte && error?.requestMayHaveBeenSent == true)
        try await client.shutdown()
    }

    @Test("A body may end within the draining time, and the transport is shut down after it")
    func drains() async throws {
        let events = Mutex<[String]>([])
        let transport = OwnTransport(onShutdown: { events.withLock { $0.append("shutdown") } }) { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: Bytes(length: 3))
        }
        let client = try await transport.client()
        var body = try await client.get("http://one.test/").body.makeAsyncIterator()
        #expect(try await body.next() == [1])
        async let shutdown: Void = client.shutdown(drainingFor: .seconds(3600))
        await Task.yield()
        while (try? await client.get("http://one.test/").body.collect()) != nil {}
        while try await body.next() != nil { events.withLock { $0.append("chunk") } }
        try await shutdown
        #expect(events.withLock { $0 } == ["chunk", "chunk", "shutdown"])
    }

    @Test("A second shutdown also returns when the transport has ended")
    func secondShutdown() async throws {
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (ends, ending) = AsyncStream<Void>.makeStream()
        let onShutdown: @Sendable () async -> Void = {
            beginning.yield()
            for await _ in ends { break }
        }
        let transport = OwnTransport(onShutdown: onShutdown) { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        let client = try await transport.client()
        let first = Task { try await client.shutdown() }
        for await _ in began { break }
        let isBack = Mutex(false)
        let second = Task {
            try await client.shutdown()
            isBack.withLock { $0 = true }
        }
        // Far more than it needs when it does not wait.
        for _ in 0..<10_000 { await Task.yield() }
        #expect(!isBack.withLock { $0 })
        ending.yield()
        try await first.value
        try await second.value
        #expect(transport.shutdowns == 1)
    }

    @Test("At the end of the draining time nothing waits for the transport", arguments: [true, false])
    func cuts(hasHead: Bool) async throws {
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let transport = OwnTransport { hop, _ in
            if !hasHead {
                beginning.yield()
                // It goes on when its task is canceled.
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
            let body = Bytes { beginning.yield() }
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: body)
        }
        let client = try await transport.client()
        let call = Task { try await client.get("http://one.test/").body.collect() }
        for await _ in began { break }
        let start = ContinuousClock.now
        try await client.shutdown()
        let error = await #expect(throws: HTTPDNSClientError.self) { try await call.value }
        #expect(error?.code == .shutDown)
        #expect(transport.shutdowns == 1)
        // The time limits of the call are 30 s and more.
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test("A connection's permit is free when the body has ended", arguments: ["GET", "HEAD", "204"])
    func permit(what: String) async throws {
        let transport = OwnTransport { hop, _ in
            let endpoint = hop.endpoints[0]
            if what == "GET" { return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: endpoint, body: [1]) }
            let status = what == "204" ? HTTPResponse.Status.noContent : .ok
            return HTTPDNSHop.Response(HTTPResponse(status: status), from: endpoint, body: Bytes())
        }
        let client = try await transport.client { $0.connections.maximumPerHost = 1 }
        var responses: [HTTPDNSClient.Response] = []
        for _ in 0..<2 {
            let method = what == "HEAD" ? HTTPRequest.Method.head : .get
            let request = HTTPDNSClient.Request(method: method, url: "http://one.test/")
            responses.append(try await client.execute(request))
            #expect(try await responses.last?.body.collect() == (what == "GET" ? [1] : []))
        }
        #expect(responses.count == 2)
        try await client.shutdown()
    }

    @Test(
        "A response that is kept and not read gives its permit back in the end",
        arguments: [true, false]
    )
    func keptResponse(isBegun: Bool) async throws {
        let transport = OwnTransport { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: Bytes())
        }
        let client = try await transport.client { $0.connections.maximumPerHost = 1 }
        let kept = try await client.get("http://one.test/") { $0.timeouts.total = .milliseconds(300) }
        var body = kept.body.makeAsyncIterator()
        if isBegun { #expect(try await body.next() == [1]) }
        let other = try await client.get("http://one.test/") { $0.timeouts.total = .seconds(60) }
        #expect(other.status == .ok)
        let error = await #expect(throws: HTTPDNSClientError.self) { while try await body.next() != nil {} }
        #expect(error?.code == .timedOut && error?.phase == .total)
        try await client.shutdown()
    }

    @Test("A body that is left gives its permit back, also when its response is kept")
    func leftBody() async throws {
        let transport = OwnTransport { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: Bytes())
        }
        let client = try await transport.client { $0.connections.maximumPerHost = 1 }
        let kept = try await client.get("http://one.test/")
        for try await bytes in kept.body {
            #expect(bytes == [1])
            break
        }
        let other = try await client.get("http://one.test/") { $0.timeouts.total = .seconds(60) }
        #expect(other.status == .ok && kept.status == .ok)
        try await client.shutdown()
    }

    @Test("A canceled shutdown of the client cancels that of its transport")
    func canceledShutdown() async throws {
        let hasBegun = Gate()
        let transport = OwnTransport {
            hasBegun.open()
            try? await Task.sleep(for: .seconds(600))
        } _: { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        let client = try await transport.client()
        let shutdown = Task { try await client.shutdown() }
        await hasBegun.passage()
        shutdown.cancel()
        _ = await shutdown.result
        #expect(transport.shutdowns == 1)
    }

    @Test("The limit of a body counts it decoded", arguments: ["gzip", "br"])
    func codedLength(coding: String) async throws {
        // It does not shrink.
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let coded = try ContentEncoder.encoded(bytes, coding)
        try #require(coded.count > bytes.count)
        let transport = OwnTransport { hop, _ in
            let head = HTTPResponse(status: .ok, headerFields: [.contentEncoding: coding])
            return HTTPDNSHop.Response(head, from: hop.endpoints[0], body: coded)
        }
        let client = try await transport.client { $0.options.maximumResponseBody = .bytes(1000) }
        #expect(try await client.get("http://one.test/").body.collect() == bytes)
        try await client.shutdown()
    }

    @Test("An error that the transport did not make names its phase", arguments: [true, false])
    func foreignErrors(hasHead: Bool) async throws {
        struct Broken: Error {}
        let transport = OwnTransport { hop, _ in
            if !hasHead { throw Broken() }
            let body = AsyncThrowingStream<[UInt8], any Error> { $0.finish(throwing: Broken()) }
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: body)
        }
        let client = try await transport.client()
        let error = await #expect(throws: HTTPDNSClientError.self) {
            try await client.post("http://one.test/", body: .bytes([1])).body.collect()
        }
        #expect(error?.code == .connectionLost && error?.phase == (hasHead ? .body : .firstByte))
        #expect(error?.underlying is Broken && error?.requestMayHaveBeenSent == true)
        try await client.shutdown()
    }

    @Test("A body that is longer than allowed ends with an error")
    func length() async throws {
        let transport = OwnTransport { hop, _ in
            HTTPDNSHop.Response(
                HTTPResponse(status: .ok),
                from: hop.endpoints[0],
                body: Array(repeating: 1, count: 2000)
            )
        }
        let client = try await transport.client { $0.options.maximumResponseBody = .bytes(1000) }
        let error = await #expect(throws: HTTPDNSClientError.self) {
            for try await _ in try await client.get("http://one.test/").body {}
        }
        #expect(error?.code == .responseTooLarge)
        try await client.shutdown()
    }

    @Test(
        "What only libcurl's transport has is refused",
        arguments: ["trust", "proxy", "socket", "source", "reload", "request"]
    )
    func refuses(what: String) async throws {
        let transport = OwnTransport { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        func set(_ configuration: inout HTTPDNSClient.Configuration) throws {
            switch what {
            case "proxy": configuration.options.proxy = .through(try HTTPDNSClient.Proxy("http://192.0.2.1:3128"))
            case "socket": configuration.options.unixSocket = "/run/one.sock"
            case "source": configuration.localSource = .address(HTTPDNSAddress(v4: 192, 0, 2, 1))
            default: configuration.trust.roots = .file("/etc/ssl/own.pem")
            }
        }
        let isLater = what == "reload" || what == "request"
        let error = await #expect(throws: HTTPDNSClientError.self) {
            let client = try await transport.client { if !isLater { try set(&$0) } }
            if what == "request" { _ = try await client.get("http://one.test/") { $0.unixSocket = "/run/one.sock" } }
            var configuration = HTTPDNSClient.Configuration()
            try set(&configuration)
            try await client.reload(configuration)
        }
        #expect(error?.code == .configuration)
        #expect(transport.hops.isEmpty)
    }
}
