// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// What tenants cost, in a process that does nothing else: the figures of Docs/Operations. The bounds are four times what
/// was measured, for other machines; threads are exact.
@Suite(
    "The cost of tenants",
    .enabled(if: ServerRig.hasProcessForItself && ServerRig.isAvailable([.nginx, .bind])),
    .serialized
)
struct TenantCostTests {
    private static func threads() throws -> Int {
        // The concurrency runtime adds threads of its own as it likes.
        try ProcessState.threadNames().count { $0.hasPrefix("httpdns") }
    }

    private func client(
        on transport: HTTPDNSLibcurlTransport,
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) async throws -> HTTPDNSClient {
        var configuration = try await ServerRig.shared().settings(mappings: ["*.test": .addresses(["127.0.0.2"])])
        try change(&configuration)
        return try await HTTPDNSClient(configuration: configuration, on: transport)
    }

    @Test("A thousand clients with equal trust cost one thread and little memory each")
    func clients() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let url = "http://one.test:\(rig.httpPort)/health"
        let first = try await client(on: transport)
        try await first.get(url).text()
        let (threads, bytes) = (try Self.threads(), try ProcessState.residentBytes())
        var clients = [first]
        for _ in 0..<1000 {
            let client = try await client(on: transport)
            try await client.get(url).text()
            clients.append(client)
        }
        let each = (try ProcessState.residentBytes() - bytes) / 1000
        print("measured: \(each) bytes for each client, \(try Self.threads() - threads) more threads for 1000")
        let more = try Self.threads() - threads
        #expect(more == 0 && each < 96 * 1024)
        for client in clients { try await client.shutdown() }
    }

    @Test("Different trust settings cost a thread and little memory each", arguments: [HTTPDNSTrust.Roots.system, nil])
    func trustSettings(roots: HTTPDNSTrust.Roots?) async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let url = "https://one.test:\(rig.tlsPort)/health"
        let pin = try HTTPDNSTrust.PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        func different(_ number: Int) async throws -> HTTPDNSClient {
            try await client(on: transport) { configuration in
                if let roots { configuration.trust.roots = roots }
                try configuration.trust.pin("n\(number).example", to: [pin])
            }
        }
        var clients = [try await different(-1)]
        _ = try? await clients[0].get(url).text()
        let (threads, bytes) = (try Self.threads(), try ProcessState.residentBytes())
        for number in 0..<16 {
            let client = try await different(number)
            // The system's authorities refuse the rig's server, after they were read.
            _ = try? await client.get(url).text()
            clients.append(client)
        }
        let each = (try ProcessState.residentBytes() - bytes) / 16
        let more = try Self.threads() - threads
        print(
            "measured: \(each) bytes, \(more) threads for 16 trust settings with roots \(roots.map { "\($0)" } ?? "file")"
        )
        // The system's authorities are some 140 certificates, parsed; the file's is one.
        #expect(more == 16 && each < (roots == nil ? 256 * 1024 : 4 * 1024 * 1024))
        for client in clients { try await client.shutdown() }
        #expect(transport.usage.loops == 0)
    }

    @Test("An idle TLS connection costs little memory")
    func idleConnections() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let client = try await client(on: transport) { $0.versions = .http1Only }
        func open(_ count: Int) async throws {
            try await concurrently(count) { _ in
                try await client.get("https://one.test:\(rig.http1Port)/stall/1").text()
            }
        }
        try await open(28)
        let bytes = try ProcessState.residentBytes()
        try await open(128)
        let each = (try ProcessState.residentBytes() - bytes) / 100
        print("measured: \(each) bytes for each idle TLS connection")
        #expect(each < 288 * 1024)
        try await client.shutdown()
    }

    // The last one: what it gives back to the allocator would be used again by the others, unmeasured.
    @Test("A request that waits for a connection costs little memory, its task included")
    func waiting() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let client = try await client(on: transport) { configuration in
            configuration.connections.maximumPerHost = 1
            configuration.connections.maximumQueued = 20_000
        }
        let url = "http://one.test:\(rig.httpPort)"
        try await client.get("\(url)/health").text()
        let bytes = try ProcessState.residentBytes()
        let holder = Task { try await client.get("\(url)/stall/600").text() }
        while client.status().connections.requestsInFlight != 1, !Task.isCancelled { await Task.yield() }
        let calls = (0..<10_000).map { _ in Task { try await client.get("\(url)/health").text() } }
        while client.requestsWaiting < 10_000, !Task.isCancelled { await Task.yield() }
        let each = (try ProcessState.residentBytes() - bytes) / 10_000
        print("measured: \(each) bytes for each request that waits")
        #expect(each < 54 * 1024)
        // The one in front last: a place that is free would be taken.
        for call in calls + [holder] { call.cancel() }
        // As results: of an error that is thrown the testing library keeps a trace, which takes a minute for so many.
        for call in [holder] + calls {
            guard case .failure(let error) = await call.result else { return #expect(Bool(false), "one was answered") }
            #expect(error is CancellationError)
        }
        #expect(client.requestsWaiting == 0)
        try await client.shutdown()
    }
}
