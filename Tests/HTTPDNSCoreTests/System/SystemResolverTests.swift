// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import HTTPDNSCore
import HTTPDNSTesting
import Testing

private let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)

struct SystemResolverTests {
    private let host: HTTPDNSName
    private let time = HTTPDNSManualClock()

    init() throws { host = try HTTPDNSName("one.test") }

    private func resolver(
        threads: Int = 1,
        growingTo maximum: Int? = nil,
        abandoned: Int = 1,
        _ lookUp: @escaping SystemResolver.LookUpFunction
    ) -> SystemResolver {
        SystemResolver(
            threads: threads,
            maximumThreads: maximum ?? threads,
            maximumAbandoned: abandoned,
            time: time,
            lookUp: lookUp
        )
    }

    private func code(
        _ resolver: SystemResolver,
        _ host: HTTPDNSName,
        _ families: HTTPDNSAddress.Families = .both
    ) async -> SystemResolverError.Code? {
        do {
            _ = try await resolver.resolve(host, families: families, timeLimit: .seconds(1))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Addresses are returned in their order, and the threads end")
    func addresses() async throws {
        let expected = [HTTPDNSAddress(family: .v6, high: 0, low: 1), loopback2, HTTPDNSAddress(v4: 127, 0, 0, 1)]
        let resolver = resolver { _, _ in .success(expected) }
        let addresses = try await resolver.resolve(host, families: .both, timeLimit: .seconds(1))
        #expect(addresses == expected)
        while resolver.threads.active > 0, !Task.isCancelled { await Task.yield() }
        #expect(resolver.threads.abandoned == 0)
    }

    @Test("Addresses of a family that was not asked for are dropped; none left is an error")
    func families() async throws {
        let resolver = resolver { _, _ in .success([loopback2]) }
        #expect(try await resolver.resolve(host, families: .v4, timeLimit: .seconds(1)) == [loopback2])
        #expect(await code(resolver, host, .v6) == .noAddresses)
    }

    @Test("A failed lookup throws its error")
    func failure() async {
        let resolver = resolver { _, _ in .failure(SystemResolverError(code: .nameNotFound, message: "no")) }
        #expect(await code(resolver, host) == .nameNotFound)
    }

    @Test("A hanging lookup is left behind at the deadline, and the next gets a thread")
    func deadline() async throws {
        let gate = ThreadGate()
        let hanging = try HTTPDNSName("hanging.test")
        let resolver = resolver { host, _ in
            if host == hanging { gate.wait() }
            return .success([loopback2])
        }
        let host = self.host
        async let first = code(resolver, hanging)
        await gate.waiting(1)
        async let second = resolver.resolve(host, families: .both, timeLimit: .seconds(9))
        time.advance(by: .seconds(1))
        #expect(await first == .timedOut)
        #expect(try await second == [loopback2])
        #expect(resolver.threads.abandoned == 1)
        gate.open()
        while resolver.threads.abandoned > 0 || resolver.threads.active > 0, !Task.isCancelled { await Task.yield() }
    }

    @Test("Canceling a task ends its hanging lookup immediately, and no other")
    func cancellation() async throws {
        let gate = ThreadGate()
        let resolver = resolver(threads: 2) { _, _ in
            gate.wait()
            return .success([loopback2])
        }
        let host = self.host
        let canceled = Task { await code(resolver, host) }
        async let other = resolver.resolve(host, families: .both, timeLimit: .seconds(1))
        await gate.waiting(2)
        canceled.cancel()
        #expect(await canceled.value == .canceled)
        gate.open()
        #expect(try await other == [loopback2])
    }

    @Test("A task that is already canceled starts no lookup")
    func cancelledBefore() async {
        let calls = Lock(0)
        let resolver = resolver { _, _ in
            calls.withLock { $0 += 1 }
            return .success([loopback2])
        }
        let host = self.host
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await code(resolver, host)
        }
        task.cancel()
        #expect(await task.value == .canceled)
        #expect(calls.withLock { $0 } == 0)
        #expect(resolver.threads.active == 0)
    }

    @Test("Any number of lookups wait for a thread, each for its own time limit")
    func manyWait() async throws {
        let resolver = resolver(threads: 2) { _, _ in .success([loopback2]) }
        let host = self.host
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2_000 {
                group.addTask { try await resolver.resolve(host, families: .both, timeLimit: .seconds(1)).count }
            }
            return try await group.reduce(0, +)
        }
        #expect(found == 2_000)
    }

    @Test("A lookup that gets no thread in time fails as overloaded, not as timed out")
    func overloaded() async throws {
        let gate = ThreadGate()
        let resolver = resolver { _, _ in
            gate.wait()
            return .success([loopback2])
        }
        let host = self.host
        async let first = resolver.resolve(host, families: .both, timeLimit: .seconds(9))
        await gate.waiting(1)
        async let second = code(resolver, host)
        while resolver.queuedLookUps < 1, !Task.isCancelled { await Task.yield() }
        time.advance(by: .seconds(1))
        #expect(await second == .overloaded)
        gate.open()
        #expect(try await first == [loopback2])
    }

    @Test("Without a thread from the system a lookup throws overloaded")
    func noThread() async throws {
        let resolver = SystemResolver(
            threads: 1,
            maximumThreads: 1,
            maximumAbandoned: 1,
            time: time,
            lookUp: { _, _ in .success([loopback2]) },
            startThread: { _ in false }
        )
        #expect(await code(resolver, host) == .overloaded)
        #expect(resolver.threads.active == 0)
    }

    @Test("A time limit of zero throws timedOut without a lookup")
    func noTime() async throws {
        let resolver = resolver { _, _ in .success([loopback2]) }
        let error = await #expect(throws: SystemResolverError.self) {
            try await resolver.resolve(host, families: .both, timeLimit: .zero)
        }
        #expect(error?.code == .timedOut)
        #expect(resolver.threads.active == 0)
    }
}

struct AddressInfoTests {
    @Test("The name localhost is found in the hosts file, each address once")
    func localhost() async throws {
        let addresses = try await SystemResolver().resolve(
            try HTTPDNSName("localhost"),
            families: .v4,
            timeLimit: .seconds(30)
        )
        #expect(addresses == [HTTPDNSAddress(v4: 127, 0, 0, 1)])
    }

    @Test("An impossible name is an error that has the name and advice")
    func unknownName() async throws {
        // .invalid never resolves (RFC 6761 section 6.4); without a name server it cannot be asked for.
        let host = try HTTPDNSName("nothing.invalid")
        let error = await #expect(throws: SystemResolverError.self) {
            try await SystemResolver().resolve(host, families: .both, timeLimit: .seconds(30))
        }
        let code = try #require(error?.code)
        #expect([.nameNotFound, .noAddresses, .failed, .timedOut].contains(code))
        #expect(error?.message.contains("nothing.invalid") == true)
        #expect(error?.message.contains("/etc/resolv.conf") == true || error?.message.contains("mapping") == true)
    }
}

/// Holds threads until it is opened, and counts them.
final class ThreadGate: Sendable {
    private let waiters = Lock(0)
    private let semaphore = DispatchSemaphore(value: 0)

    /// Blocks the thread, which is one of the resolver's own.
    func wait() {
        waiters.withLock { $0 += 1 }
        semaphore.wait()
        // One opening lets all of them through, one after the other.
        semaphore.signal()
    }

    func open() { semaphore.signal() }

    var count: Int { waiters.withLock { $0 } }

    func waiting(_ count: Int) async {
        while self.count < count, !Task.isCancelled { await Task.yield() }
    }
}
