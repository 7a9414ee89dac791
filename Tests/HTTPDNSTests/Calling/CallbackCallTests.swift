// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNS

struct CallbackCallTests {
    private let request = HTTPDNSClient.Request(url: "http://one.test/")

    @Test("The callback gets the response with its body, on the callbacks' thread")
    func success() async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let client = try await mappedClient(server.port)
        let (result, thread) = await withCheckedContinuation { continuation in
            client.execute(request) { continuation.resume(returning: ($0, ProcessState.threadName())) }
        }
        let response = try result.get()
        #expect(response.status == .ok && response.body == Array("hello".utf8) && response.exchanges.count == 1)
        #expect(response.destination.hasPrefix("127.0.0.1:\(server.port)") && response.version == .http11)
        #expect(thread == "httpdns-calls")
        try await client.shutdown()
    }

    @Test("Callbacks run one after the other, each once, however many calls there are")
    func serial() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let (tally, request) = (Occupancy(), request)
        try await concurrently(200) { _ in
            await withCheckedContinuation { continuation in
                client.execute(request) { _ in
                    tally.enter()
                    tally.leave()
                    continuation.resume()
                }
            }
        }
        #expect(tally.most == 1 && tally.all == 200)
        try await client.shutdown()
    }

    @Test("The caller may choose where callbacks run")
    func deliver() async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let client = try await mappedClient(server.port)
        let thread = ThreadPool(named: "mine", rest: .zero)
        let name = await withCheckedContinuation { continuation in
            client.execute(request, deliver: { thread.run($0) }) { _ in
                continuation.resume(returning: ProcessState.threadName())
            }
        }
        #expect(name == "mine")
        try await client.shutdown()
    }

    @Test("A canceled call reports so to its callback, and its connection is closed")
    func canceled() async throws {
        let arrived = Gate()
        let server = try RawServer(.readHead, .open(arrived), .hang)
        let client = try await mappedClient(server.port)
        let result: Result<HTTPDNSClient.Response.Collected, any Error> = await withCheckedContinuation {
            continuation in
            let call = client.execute(request) { continuation.resume(returning: $0) }
            Task {
                await arrived.passage()
                call.cancel()
            }
        }
        #expect(throws: CancellationError.self) { try result.get() }
        _ = try await server.awaitConnections { $0.first?.isClosedByClient == true }
        try await client.shutdown()
    }

    /// Both errors are typed.
    @Test("After a shutdown, and for a body that is too long, the callback gets an error")
    func errors() async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let client = try await mappedClient(server.port)
        func code(_ limit: HTTPDNSByteCount) async -> HTTPDNSClientError.Code? {
            await withCheckedContinuation { continuation in
                client.execute(request, upTo: limit) { result in
                    guard case .failure(let error) = result else { return continuation.resume(returning: nil) }
                    continuation.resume(returning: (error as? HTTPDNSClientError)?.code)
                }
            }
        }
        #expect(await code(.bytes(4)) == .responseTooLarge)
        try await client.shutdown()
        #expect(await code(.bytes(5)) == .shutDown)
    }
}
