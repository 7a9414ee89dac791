import Testing

@testable import HTTPDNS

@Suite("State of flights")
struct FlightTableTests {
    private typealias Table = FlightTable<String, Int, String>

    @Test("the first who asks starts the flight, the others take a place in it")
    func joins() {
        var table = Table(maximum: .max)
        let first = table.join("a", 1)!
        let second = table.join("a", 2)!
        let other = table.join("b", 3)!
        #expect(first.starts && !second.starts && other.starts)
        #expect(first.seat.flight == second.seat.flight)
        let landing = table.land(first.seat.flight)
        #expect(landing?.waiters.sorted() == [1, 2])
        #expect(landing?.isCurrent == true)
        #expect(table.count == 1)
        #expect(table.join("a", 4)!.starts)
    }

    @Test("only the last who leaves ends the work, and its key is free")
    func leaves() {
        var table = Table(maximum: .max)
        let first = table.join("a", 1)!
        let second = table.join("a", 2)!
        #expect(table.attach("work", to: first.seat.flight) == nil)
        #expect(table.leave(first.seat) == nil)
        #expect(table.leave(first.seat) == nil)
        #expect(table.leave(second.seat) == "work")
        #expect(table.leave(second.seat) == nil)
        #expect(table.land(first.seat.flight) == nil)
        #expect(table.join("a", 3)!.starts)
    }

    @Test("100,000 who leave one flight leave in time proportional to their number", .timeLimit(.minutes(1)))
    func leavesFast() {
        var table = Table(maximum: .max)
        let seats = (0..<100_000).map { table.join("a", $0)!.seat }
        for seat in seats { _ = table.leave(seat) }
        #expect(table.count == 0)
    }

    @Test("work that is attached when all have left is given back to be cancelled")
    func attachesLate() {
        var table = Table(maximum: .max)
        let seat = table.join("a", 1)!.seat
        #expect(table.leave(seat) == nil)
        #expect(table.attach("work", to: seat.flight) == "work")
        #expect(table.count == 0)
    }

    @Test("a superseded flight serves its own, is joined by nobody, and frees no key but its own")
    func supersedes() {
        var table = Table(maximum: .max)
        let old = table.join("a", 1)!.seat
        table.supersedeAll()
        let new = table.join("a", 2)!
        #expect(new.starts)
        #expect(table.land(old.flight)?.isCurrent == false)
        #expect(!table.join("a", 3)!.starts)
        #expect(table.land(new.seat.flight)?.isCurrent == true)
    }

    @Test("one flight too many is refused, and one more who shares a flight is not")
    func boundsFlights() throws {
        var table = Table(maximum: 2)
        let first = table.join("a", 1)!
        _ = table.join("b", 2)!
        #expect(table.join("c", 3) == nil)
        #expect(table.join("a", 4)?.starts == false)
        _ = table.land(first.seat.flight)
        #expect(table.join("c", 5)?.starts == true)
    }

    @Test("a flight that is let land goes on when all have left, and is joined")
    func landsWithoutWaiters() {
        var table = Table(maximum: .max)
        let seat = table.join("a", 1)!.seat
        _ = table.attach("work", to: seat.flight)
        #expect(table.leave(seat, letsItLand: true) == nil)
        #expect(table.join("a", 2)!.starts == false)
        #expect(table.land(seat.flight)?.waiters == [2])
    }

    @Test("ending everything gives back all who wait and all work")
    func removesAll() {
        var table = Table(maximum: .max)
        let seat = table.join("a", 1)!.seat
        _ = table.join("b", 2)!
        _ = table.attach("work", to: seat.flight)
        let (waiters, work) = table.removeAll()
        #expect(waiters.sorted() == [1, 2])
        #expect(work == ["work"])
        #expect(table.count == 0)
        #expect(table.leave(seat) == nil)
    }
}
