// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Synchronization
import Testing

/// A transport that answers as a test says, and keeps its hops.
private final class OwnTransport: HTTPDNSTransport {
    typealias Script = @Sendable (HTTPDNSHop, Int) async throws -> HTTPDNSHop.Response

    private let state = Mutex((hops: [HTTPDNSHop](), shutdowns: 0))
    private let script: Script

    init(_ script: @escaping Script) { self.script = script }

    var hops: [HTTPDNSHop] { state.withLock { $0.hops } }
    var shutdowns: Int { state.withLock { $0.shutdowns } }

    func send(_ hop: HTTPDNSHop) async throws -> HTTPDNSHop.Response {
        let number = state.withLock { state in
            state.hops.append(hop)
            return state.hops.count - 1
        }
        return try await script(hop, number)
    }

    func shutdown() async { state.withLock { $0.shutdowns += 1 } }

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

/// A body that never has another chunk.
private struct Endless: AsyncSequence {
    struct AsyncIterator: AsyncIteratorProtocol {
        var isFirst = true

        mutating func next() async throws -> [UInt8]? {
            defer { isFirst = false }
            if !isFirst { try await Task.sleep(for: .seconds(3600)) }
            return [1]
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}

@Suite("A transport of the program's own", .timeLimit(.minutes(5)))
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
            return HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0], body: Endless())
        }
        let client = try await transport.client()
        let error = await #expect(throws: HTTPDNSClientError.self) {
            try await client.get("http://one.test/") { $0.timeouts.total = .milliseconds(200) }.body.collect()
        }
        #expect(error?.code == .timedOut)
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

    @Test("What only libcurl's transport has is refused", arguments: ["trust", "proxy"])
    func refuses(what: String) async throws {
        let transport = OwnTransport { hop, _ in
            HTTPDNSHop.Response(HTTPResponse(status: .ok), from: hop.endpoints[0])
        }
        let error = await #expect(throws: HTTPDNSClientError.self) {
            let client = try await transport.client {
                if what == "trust" {
                    $0.trust.roots = .file("/etc/ssl/own.pem")
                } else {
                    $0.options.proxy = .through(try HTTPDNSClient.Proxy("http://192.0.2.1:3128"))
                }
            }
            _ = try await client.get("http://one.test/")
        }
        #expect(error?.code == .configuration)
        #expect(transport.hops.isEmpty)
    }
}
