// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A request that may have arrived, and must not be doubled.
struct SentOnceTests {
    private func client(_ port: UInt16) async throws -> HTTPDNSClient {
        try await mappedClient(port) { configuration in
            configuration.retries = .standard
            configuration.retries.limit = 5
            configuration.retries.delay = .milliseconds(1)
        }
    }

    private func count(_ word: String, at server: RawServer) -> Int {
        server.connections.reduce(0) { $0 + $1.text.split(separator: "\r\n").count { $0.hasPrefix("\(word) ") } }
    }

    /// The error is typed.
    @Test("A POST that a server reads and closes without a byte is counted once", arguments: [true, false])
    func closedWithoutAByte(isKept: Bool) async throws {
        let warm: [RawServer.Step] = isKept ? [.readHead, .respond("ok")] : []
        // A second connection is read as well, so that it would be counted.
        let server = try RawServer { $0 == 0 ? warm + [.readHead, .read(6)] : [.readHead, .read(6)] }
        let client = try await client(server.port)
        if isKept { _ = try await client.get("http://one.test/").body.collect(upTo: .bytes(2)) }
        let error = await clientError { try await client.post("http://one.test/pay", body: .text("charge")) }
        try await client.shutdown()
        #expect(error?.code == .connectionLost && error?.phase == .firstByte, "\(error as Any)")
        #expect(error?.requestMayHaveBeenSent == true && error?.retries == 0)
        #expect(count("POST", at: server) == 1)
    }

    @Test("A PUT, or a POST with an Idempotency-Key, is sent again with the whole body")
    func idempotent() async throws {
        for method in [HTTPRequest.Method.post, .put] {
            let server = try RawServer { connection in
                connection == 0
                    ? [.readHead, .respond("ok"), .readHead, .read(6)] : [.readHead, .read(6), .respond("ok")]
            }
            let client = try await client(server.port)
            _ = try await client.get("http://one.test/").body.collect(upTo: .bytes(2))
            var request = HTTPDNSClient.Request(method: method, url: "http://one.test/pay", body: .text("charge"))
            if method == .post { request.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "8e03978e" }
            #expect(try await client.execute(request).status == .ok)
            try await client.shutdown()
            #expect(count(method.rawValue, at: server) == 2)
            // libcurl connects again before it is stopped, and leaves that connection without a byte.
            let used = server.connections.filter { !$0.received.isEmpty }
            #expect(used.count == 2 && used.allSatisfy { $0.text.contains("charge") })
        }
    }

    /// A port that opens between two tries.
    @Test("A POST that reached no server is sent once a server is there")
    func unsent() async throws {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let later = Lock<RawServer?>(nil)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(gone.port)"])]
        configuration.retries = .standard
        configuration.retries.limit = 100
        configuration.retries.delay = .milliseconds(1)
        configuration.retryBudget.perSecond = 1000
        configuration.networkInterceptors = [
            Around { request, context, next in
                if context.hop > 0, later.withLock({ $0 == nil }) {
                    let server = try? RawServer(port: gone.port, .readHead, .read(6), .respond("ok"))
                    later.withLock { $0 = server }
                }
                return try await next(request, context)
            }
        ]
        let client = try await HTTPDNSClient(configuration: configuration)
        let response = try await client.post("http://one.test/", body: .text("charge"))
        try await client.shutdown()
        #expect(response.status == .ok && response.exchanges.count == 1)
        let server = try #require(later.withLock { $0 })
        #expect(count("POST", at: server) == 1 && server.connections.count == 1)
    }
}
