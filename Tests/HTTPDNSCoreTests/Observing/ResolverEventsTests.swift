// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct ResolverEventsTests {
    private let observation = ResolverObservation(providers: [], timeSource: HTTPDNSManualClock(), logger: nil)

    private func tell(_ numbers: Range<Int>) {
        for number in numbers { observation.tell(.evicted) { $0.count = number } }
    }

    @Test("Each listener gets every event since it began to listen, in order")
    func order() async {
        let early = observation.events.makeAsyncIterator()
        tell(0..<3)
        let late = observation.events.makeAsyncIterator()
        tell(3..<6)
        observation.end()
        #expect(await numbers(early) == Array(0..<6))
        #expect(await numbers(late) == Array(3..<6))
    }

    @Test("A provider's message keeps its quotation marks, in the error and in the event")
    func quotationMarks() async throws {
        let fixture = try ResolverFixture()
        let said = #"answer refused: its "code" is not "success""#
        let failure = HTTPDNSProviderError(code: .badResponse, message: said)
        fixture.provider.answer(.failure(failure), for: try HTTPDNSName("img.test"))
        var events = fixture.resolver.listener
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.attempts.first?.failure == said)
        #expect(error?.message == "no provider answered about img.test: doh: \(said) in 0 ms")
        #expect(await events.wait(for: .providerFailed)?.message == said)
        #expect(await events.wait(for: .failed)?.message == error?.message)
        await fixture.resolver.shutdown()
    }

    @Test("A slow listener gets the number of missed events, and the others miss none")
    func missed() async {
        var slow = observation.events.buffered(upTo: 2).makeAsyncIterator()
        let roomy = observation.events.makeAsyncIterator()
        tell(0..<10)
        #expect(await slow.next()?.missedBefore == 8)
        #expect(await slow.next()?.missedBefore == 0)
        observation.end()
        #expect(await numbers(roomy) == Array(0..<10))
    }

    @Test("Without a listener no event is created")
    func noListener() {
        #expect(!observation.wants(.changed))
        observation.tell(.changed) { _ in Issue.record("an event was made for nobody") }
        do {
            let iterator = observation.events.makeAsyncIterator()
            #expect(observation.wants(.changed))
            withExtendedLifetime(iterator) {}
        }
        #expect(observation.broadcast.listenerCount == 0)
    }

    @Test("A listener that is canceled while it waits ends and is removed")
    func canceled() async {
        let observation = observation
        let ready = OneShot<Void>()
        let task = Task {
            var iterator = observation.events.makeAsyncIterator()
            _ = await iterator.next()
            ready.deliver(())
            // It stays alive meanwhile, so that it is the canceling that removes it.
            let last = await iterator.next()
            let count = observation.broadcast.listenerCount
            withExtendedLifetime(iterator) {}
            return (last, count)
        }
        while observation.broadcast.listenerCount == 0, !Task.isCancelled { await Task.yield() }
        tell(0..<1)
        await ready.value()
        task.cancel()
        let (last, count) = await task.value
        #expect(last == nil)
        #expect(count == 0)
    }

    @Test("A shutdown ends current and later listeners")
    func end() async {
        let observation = observation
        let task = Task {
            var count = 0
            for await _ in observation.events { count += 1 }
            return count
        }
        while observation.broadcast.listenerCount == 0, !Task.isCancelled { await Task.yield() }
        tell(0..<2)
        observation.end()
        #expect(await task.value == 2)
        #expect(await numbers(observation.events.makeAsyncIterator()).isEmpty)
        #expect(observation.broadcast.listenerCount == 0)
    }

    /// No call hangs.
    @Test("Under many senders and cancellations a listener that stays gets every event")
    func storm() async {
        let observation = observation
        let tellers = 8
        let each = 200
        let stayer = observation.events.buffered(upTo: tellers * each).makeAsyncIterator()
        await withTaskGroup(of: Void.self) { group in
            let leavers = (0..<16).map { _ in
                Task {
                    for await _ in observation.events.buffered(upTo: 4) {}
                }
            }
            for teller in 0..<tellers {
                group.addTask {
                    for number in 0..<each { observation.tell(.evicted) { $0.count = teller * each + number } }
                }
            }
            group.addTask {
                for leaver in leavers {
                    leaver.cancel()
                    await leaver.value
                }
            }
        }
        observation.end()
        let received = await numbers(stayer)
        #expect(received.sorted() == Array(0..<tellers * each))
        for teller in 0..<tellers {
            let own = received.filter { $0 / each == teller }
            #expect(own == own.sorted())
        }
    }

    private func numbers(_ iterator: HTTPDNSResolver.Events.Iterator) async -> [Int] {
        var iterator = iterator
        var numbers: [Int] = []
        while let event = await iterator.next() { numbers.append(event.count ?? -1) }
        return numbers
    }
}
