// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNS

@Suite("Tasks on the loop", .timeLimit(.minutes(10)))
struct ExecutorTests {
    /// It does so before the first request, between requests and in bodies.
    @Test("A task that prefers the executor always runs on the loop's thread")
    func onTheLoop() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let names = try await Task(executorPreference: client.executor) {
            var names = [ProcessState.threadName()]
            for _ in 0..<3 {
                let response = try await client.get("http://one.test/")
                names.append(ProcessState.threadName())
                for try await _ in response.body { names.append(ProcessState.threadName()) }
            }
            return names
        }.value
        #expect(Set(names) == ["httpdns-loop"] && names.count == 7, "\(names)")
        try await client.shutdown()
    }

    @Test("Many concurrent tasks on the loop all end, with other requests between them")
    func many() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let counts = await withTaskGroup(of: Int.self) { tasks in
            for number in 0..<64 {
                let executor = number % 2 == 0 ? client.executor : globalConcurrentExecutor
                tasks.addTask(executorPreference: executor) {
                    var count = 0
                    for _ in 0..<20 {
                        let body = try? await client.get("http://one.test/").body.collect(upTo: .bytes(5))
                        if body?.count == 5 { count += 1 }
                    }
                    return count
                }
            }
            return await tasks.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 20, count: 64))
        try await client.shutdown()
    }

    @Test("A task on the loop may shut its client down, and later use is a typed error")
    func afterTheEnd() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        let executor = client.executor
        let code = try await Task(executorPreference: executor) {
            _ = try await client.get("http://one.test/")
            try await client.shutdown()
            return await clientError { try await client.get("http://one.test/") }?.code
        }.value
        #expect(code == .shutDown)
        #expect(await Task(executorPreference: executor) { ProcessState.threadName() }.value != "httpdns-loop")
    }

    @Test("A client that never sent anything ends, although its executor was used")
    func unused() async throws {
        let server = try RawServer(.hang)
        let client = try await mappedClient(server.port)
        #expect(await Task(executorPreference: client.executor) { 1 }.value == 1)
        try await client.shutdown()
        #expect(await Task(executorPreference: client.executor) { 2 }.value == 2)
    }

    @Test("Steps of tasks that were under way when the loop ended are still done")
    func noneLost() async throws {
        let server = try RawServer(.serve("hello"))
        for _ in 0..<20 {
            let client = try await mappedClient(server.port)
            let tasks = (0..<32).map { _ in
                Task(executorPreference: client.executor) {
                    for _ in 0..<50 { await Task.yield() }
                    return 1
                }
            }
            _ = try await client.get("http://one.test/")
            try await client.shutdown()
            var sum = 0
            for task in tasks { sum += await task.value }
            #expect(sum == 32)
        }
    }
}
