// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct TransferGroupTests {
    private final class Permit: Sendable {}

    private func transfer(_ group: TransferGroup) throws -> Transfer {
        let request = try TransportFixture.request("http://one.test/", at: "127.0.0.1")
        return Transfer(request, mailbox: LoopMailbox(TransportConfiguration()), group: group)
    }

    /// Newer ones are not waited for.
    @Test("Older settings take no new transfer, and end with their last one")
    func transportSets() async throws {
        let group = TransferGroup()
        let (first, second, third) = (try transfer(group), try transfer(group), try transfer(group))
        #expect(try group.add(first, transportSet: 0) && group.add(second, transportSet: 0))
        #expect(group.advance() == 1)
        #expect(try !group.add(third, transportSet: 0))
        #expect(try group.add(third, transportSet: 1))
        #expect(group.inFlight == 3)
        let isOver = Lock(false)
        let waiting = Task {
            await group.awaitEnd(of: 0)
            isOver.withLock { $0 = true }
        }
        group.remove(second)
        // Twice is once.
        group.remove(second)
        for _ in 0..<100 { await Task.yield() }
        #expect(!isOver.withLock { $0 })
        group.remove(first)
        await waiting.value
        #expect(group.inFlight == 1)
        await group.awaitEnd(of: 0)
    }

    @Test("Settings without transfers end immediately, and the newest take new ones")
    func empty() async throws {
        let group = TransferGroup()
        for number in 1...3 { #expect(group.advance() == number) }
        for number in 0..<3 { await group.awaitEnd(of: number) }
        #expect(try group.add(try transfer(group), transportSet: 3))
    }

    @Test("The limit and the end are those of the transfers under all settings together")
    func all() async throws {
        let group = TransferGroup(maximum: 1)
        let first = try transfer(group)
        #expect(try group.add(first, transportSet: 0))
        let newest = group.advance()
        let refused = try transfer(group)
        #expect(throws: TransferFailure.self) { try group.add(refused, transportSet: newest) }
        group.remove(first)
        await group.close(drainingUntil: SystemTimeSource().now())
        let late = try transfer(group)
        #expect(throws: TransferFailure.self) { try group.add(late, transportSet: newest) }
    }

    /// The caller's next request may come before the loop has ended the transfer, which does not run here.
    @Test("A response whose body nobody will read does not count in its group")
    func unread() throws {
        let group = TransferGroup(maximum: 1)
        let (first, second) = (try transfer(group), try transfer(group))
        #expect(try group.add(first, transportSet: 0))
        first.endUnread()
        #expect(group.inFlight == 0)
        #expect(try group.add(second, transportSet: 0))
        // The loop reports the end of the first one later.
        _ = first.deliver(end: .failure(CancellationError()))
        #expect(group.inFlight == 1)
    }

    /// It keeps its permit among the connections.
    @Test("A request that came too late for its settings returns unchanged")
    func superseded() async throws {
        let transport = Transport()
        let group = TransferGroup()
        _ = group.advance()
        var request = try TransportFixture.request("http://one.test/a", at: "127.0.0.1")
        let permit = Permit()
        request.permit = permit
        do {
            _ = try await transport.execute(request, in: group, transportSet: 0)
            Issue.record("it was sent")
        } catch let superseded as TransferGroup.StaleTransportSet {
            #expect(superseded.request.permit === permit && superseded.request.url == request.url)
        }
        #expect(group.inFlight == 0)
        await transport.shutdown()
    }
}
