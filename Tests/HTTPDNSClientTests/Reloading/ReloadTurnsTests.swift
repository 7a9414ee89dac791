import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSClient

@Suite("Turns of reloads", .timeLimit(.minutes(1)))
struct ReloadTurnsTests {
    @Test("one has its turn at a time, and the next one is who came first")
    func order() async {
        let turns = ReloadTurns()
        let order = Lock<[Int]>([])
        let inside = Lock(0)
        await turns.begin()
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<8 {
                tasks.addTask {
                    await turns.begin()
                    let count = inside.withLock { count in
                        count += 1
                        return count
                    }
                    #expect(count == 1)
                    order.withLock { $0.append(number) }
                    await Task.yield()
                    inside.withLock { $0 -= 1 }
                    turns.end()
                }
                while turns.waitingCount <= number, !Task.isCancelled { await Task.yield() }
            }
            #expect(order.withLock { $0 } == [])
            turns.end()
        }
        #expect(order.withLock { $0 } == Array(0..<8))
        // Nobody has it any more.
        await turns.begin()
        turns.end()
    }
}
