// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import Foundation
import HTTPDNSPrimitives
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Blocking calls from everywhere end, keep their deadline, and burn nothing while they wait.
/// They take all of the runtime's threads: other tests would stand still, and two of these wait for each other's threads.
/// `make test` runs them in a process of their own.
@Suite(
    "Blocking calls",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct BlockingCallTests {
    private static func text(
        _ client: HTTPDNSClient,
        _ body: HTTPDNSClient.Request.Body? = nil,
        timeout: Duration? = nil
    )
        throws
        -> String
    {
        var request = HTTPDNSClient.Request(
            method: body == nil ? .get : .post,
            url: "http://one.test/",
            body: body ?? .none
        )
        if let timeout { request.changeOptions { $0.timeouts.total = timeout } }
        return String(decoding: try client.executeAndWait(request).body, as: UTF8.self)
    }

    /// What code that may not block gets when it does all the same: a function that is not async hides it from the compiler.
    private static func error(
        _ client: HTTPDNSClient,
        _ body: HTTPDNSClient.Request.Body? = nil,
        timeout: Duration? = nil
    )
        -> HTTPDNSClientError?
    {
        do {
            _ = try text(client, body, timeout: timeout)
            return nil
        } catch {
            return error as? HTTPDNSClientError
        }
    }

    private func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let thread = ThreadPool(named: "test", rest: .zero)
        return try await withCheckedThrowingContinuation { continuation in
            thread.run { continuation.resume(with: Result(catching: work)) }
        }
    }

    @Test("A blocking call works on the main thread")
    @MainActor
    func main() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let texts = try (0..<3).map { _ in try Self.text(client) }
        #expect(texts == ["hello", "hello", "hello"] && server.connections.count == 1)
        try await client.shutdown()
    }

    /// 64 threads call together. A waiting thread uses less than 5 % of a processor.
    @Test("64 waiting threads end and hardly use the processor")
    func threads() async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("hello")]))
        let client = try await mappedClient(server.port)
        let start = SystemTimeSource().now()
        let calls = (0..<64).map { _ in
            Task {
                try await onThread {
                    let before = ProcessState.threadTime()
                    let text = try Self.text(client)
                    return (text, ProcessState.threadTime() - before)
                }
            }
        }
        _ = try await server.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } == 64 }
        // Something to burn in: a waiting thread that spins would use all of it.
        let until = max(SystemTimeSource().now(), start + .seconds(5))
        try await SystemTimeSource().sleep(until: until)
        gate.open()
        var used = Duration.zero
        for call in calls {
            let (text, time) = try await call.value
            #expect(text == "hello")
            used = max(used, time)
        }
        let elapsed = SystemTimeSource().now() - start
        #expect(used * 20 < elapsed, "\(used) of \(elapsed)")
        try await client.shutdown()
    }

    @Test("A blocking call inside a callback ends when all runtime threads are taken")
    func insideACallback() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let texts = try await concurrently(8) { _ in
            await withCheckedContinuation { continuation in
                client.execute(HTTPDNSClient.Request(url: "http://one.test/")) { result in
                    let first = (try? result.get()).map { String(decoding: $0.body, as: UTF8.self) }
                    let second = try? Self.text(client)
                    continuation.resume(returning: first.flatMap { first in second.map { first + $0 } })
                }
            }
        }
        #expect(texts == Array(repeating: "hellohello", count: 8))
        try await client.shutdown()
    }

    /// As many as there are threads and more, answered together.
    @Test("Blocking calls on all of the runtime's own threads end", arguments: [TaskPriority.medium, .high])
    func onTheRuntimesThreads(priority: TaskPriority) async throws {
        let second = Gate()
        // The first answer comes with the second, where there are threads for two.
        let isAlone = ProcessInfo.processInfo.activeProcessorCount == 1
        let server = try RawServer { number in
            let meets: [RawServer.Step] =
                switch number {
                case 0 where !isAlone: [.readHead, .wait(second), .respond("hello")]
                case 1: [.readHead, .open(second), .respond("hello")]
                default: []
                }
            return meets + [.serve("hello")]
        }
        let client = try await mappedClient(server.port)
        let errors = await withTaskGroup(of: HTTPDNSClientError?.self) { tasks in
            for _ in 0..<16 { tasks.addTask(priority: priority) { Self.error(client) } }
            return await tasks.reduce(into: [HTTPDNSClientError]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(errors.isEmpty, "\(errors)")
        try await client.shutdown()
    }

    @Test("A stream and a file are sent when all runtime threads are taken", arguments: [false, true])
    func bodiesOnTheRuntimesThreads(isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("12345", to: "body")
        let server = try RawServer(.repeatForever([.readHead, .read(5), .respond("hello")]))
        let client = try await mappedClient(server.port)
        let errors = await withTaskGroup(of: HTTPDNSClientError?.self) { tasks in
            for _ in 0..<16 {
                let chunks = Chunks([Array("123".utf8), Array("45".utf8)])
                let body = isFile ? HTTPDNSClient.Request.Body.file(path) : .stream(length: 5, chunks)
                tasks.addTask { Self.error(client, body, timeout: .seconds(20)) }
            }
            return await tasks.reduce(into: [HTTPDNSClientError]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(errors.isEmpty, "\(errors)")
        #expect(server.count(of: "12345") == 16)
        try await client.shutdown()
    }

    @Test("Names are resolved as fast as alone while all runtime threads are blocked")
    func uncachedOnTheRuntimesThreads() async throws {
        let server = try RawServer(.readHead, .respond(status: "503 X"), .serve("hello"))
        let provider = SlowProvider()
        // The last one is asked for by an async call as well, whose lookup is under way on the runtime's threads.
        let names = (0..<6).map { "n\($0).test" } + ["n5.test"]
        let client = try await mappedClient(server.port) { configuration in
            configuration.resolver.providers = [provider]
            configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["slow"], fallback: .off))]
            configuration.retries = .standard
        }
        let shared = Task { try await client.get("http://n5.test:\(server.port)/").status }
        while provider.queries.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        let start = ContinuousClock.now
        let errors = await withTaskGroup(of: (any Error)?.self) { tasks in
            for name in names {
                tasks.addTask {
                    var request = HTTPDNSClient.Request(url: "http://\(name):\(server.port)/")
                    request.changeOptions { $0.timeouts.total = .seconds(5) }
                    do {
                        // A synchronous function hides the blocking from the compiler.
                        _ = try Self.answer(client, request)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await tasks.reduce(into: [any Error]()) { if let error = $1 { $0.append(error) } }
        }
        let elapsed = ContinuousClock.now - start
        #expect(errors.isEmpty, "\(errors)")
        #expect(elapsed < .seconds(5), "\(elapsed)")
        #expect(try await shared.value == .ok)
        try await client.shutdown()
    }

    /// Answers about every name after 50 ms.
    private final class SlowProvider: HTTPDNSProvider {
        let name = "slow"
        let answerScope = HTTPDNSAddressPolicy.Scope.loopback
        let queries = Lock(0)

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            queries.withLock { $0 += 1 }
            let clock = SystemTimeSource()
            try await clock.sleep(until: clock.now() + .milliseconds(50))
            return .addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .seconds(60))
        }
    }

    private static func answer(_ client: HTTPDNSClient, _ request: HTTPDNSClient.Request) throws
        -> HTTPDNSClient.Response.Collected
    {
        try client.executeAndWait(request)
    }

    @Test("The deadline is kept, and the error names the phase")
    func deadline() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await mappedClient(server.port) { $0.timeouts.total = nil }
        let start = SystemTimeSource().now()
        let error = try await onThread { Self.error(client, timeout: .seconds(2)) }
        let elapsed = SystemTimeSource().now() - start
        #expect(error?.code == .timedOut && error?.phase == .firstByte && error?.isCallDeadline == true)
        #expect(elapsed >= .seconds(2), "\(elapsed)")
        try await client.shutdown()
    }

    @Test("The waiting thread itself keeps the deadline when the work makes no progress")
    func overdue() async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let gate = Gate()
        let client = try await mappedClient(server.port) { configuration in
            configuration.applicationInterceptors = [Around.before { _ in await gate.passage() }]
        }
        let error = try await onThread { Self.error(client, timeout: .milliseconds(100)) }
        #expect(error?.code == .timedOut && error?.phase == .total && error?.isCallDeadline == true)
        gate.open()
        try await client.shutdown(drainingFor: .seconds(60))
    }

    @Test("A blocking call inside the work of another one is refused immediately")
    func nested() async throws {
        let server = try RawServer(.serve("hello"))
        let inner = Lock<HTTPDNSClientError?>(nil)
        let own = Lock<HTTPDNSClient?>(nil)
        let client = try await mappedClient(server.port) { configuration in
            configuration.networkInterceptors = [
                Around.before { _ in
                    if let client = own.withLock({ $0 }) {
                        let error = Self.error(client)
                        inner.withLock { $0 = error }
                    }
                }
            ]
        }
        own.withLock { $0 = client }
        #expect(try await onThread { try Self.text(client) } == "hello")
        #expect(inner.withLock { $0 }?.code == .blockingRefused)
        own.withLock { $0 = nil }
        try await client.shutdown()
    }

    @Test("A body that is too long and a client that is shut down are typed errors")
    func errors() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let long = try await onThread {
            Result { try client.executeAndWait(HTTPDNSClient.Request(url: "http://one.test/"), upTo: .bytes(4)) }
        }
        #expect(throws: HTTPDNSClientError.self) { try long.get() }
        try await client.shutdown()
        #expect(try await onThread { Self.error(client) }?.code == .shutDown)
    }
}
