// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

struct ScopedClientTests {
    private struct Mistake: Error {}

    private func isShutDown(_ client: HTTPDNSClient?) async throws -> Bool {
        let client = try #require(client)
        do {
            _ = try await client.get("http://127.0.0.1:9/")
        } catch let error as HTTPDNSClientError {
            return error.code == .shutDown
        }
        return false
    }

    @Test("The result of the closure is returned, and the client is shut down")
    func result() async throws {
        var used: HTTPDNSClient?
        let text = try await withHTTPDNSClient { client in
            used = client
            return "done"
        }
        #expect(text == "done")
        #expect(try await isShutDown(used))
    }

    @Test("The error of the closure is thrown, and the client is shut down")
    func failure() async throws {
        var used: HTTPDNSClient?
        await #expect(throws: Mistake.self) {
            try await withHTTPDNSClient { client in
                used = client
                throw Mistake()
            }
        }
        #expect(try await isShutDown(used))
    }

    @Test("A canceled call does not cut the draining time of other requests short")
    func canceled() async throws {
        let (arrived, released) = (Gate(), Gate())
        let server = try RawServer(.readHead, .open(arrived), .wait(released), .respond("ok"))
        let url = "http://127.0.0.1:\(server.port)/"
        let call = Task {
            var other: Task<String, any Error>?
            await #expect(throws: CancellationError.self) {
                try await withHTTPDNSClient(drainingFor: .seconds(60)) { client in
                    other = Task {
                        let response = try await client.get(url) { $0.addresses = .only(["127.0.0.1"]) }
                        return String(decoding: try await response.body.collect(upTo: .bytes(2)), as: UTF8.self)
                    }
                    await arrived.passage()
                    withUnsafeCurrentTask { $0?.cancel() }
                    Task {
                        // The other request gets its response only after the shutdown has begun.
                        while try await !isShutDown(client) { await Task.yield() }
                        released.open()
                    }
                    try Task.checkCancellation()
                }
            }
            return try await other?.value
        }
        #expect(try await call.value == "ok")
    }
}
