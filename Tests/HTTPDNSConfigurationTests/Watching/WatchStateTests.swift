// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

struct WatchStateTests {
    private func started(_ sight: FileStatus = .version(1, inode: 1)) -> WatchedClock {
        var clock = WatchedClock(sight, known: sight)
        clock.begin()
        return clock
    }

    @Test("An unchanged file is checked once a second, and not read")
    func idle() {
        var clock = started()
        clock.pass(3_600_000)
        #expect(clock.journal.isEmpty)
        #expect(clock.looks == 3601)
        #expect(clock.deadline == 3_601_000)
    }

    @Test("A file changed before watching began is read after a second without changes")
    func changedBefore() {
        var clock = WatchedClock(.version(2, inode: 1), known: .version(1, inode: 1))
        clock.begin()
        clock.pass(5000)
        #expect(clock.journal == ["1000 read"])
    }

    @Test("A file moved into place is read immediately")
    func moved() {
        var clock = started()
        clock.pass(50)
        clock.event(.replaced, .version(2))
        clock.pass(5000)
        #expect(clock.journal == ["50 read"])
    }

    @Test("Files moved into place in turn are each read, without starvation")
    func storm() {
        var clock = started()
        for number in 2..<102 {
            clock.event(.replaced, .version(number))
            clock.pass(60)
        }
        #expect(clock.journal.count == 100)
    }

    /// It is written in two halves, 300 ms apart.
    @Test("A file written in place is read 100 ms after it was closed, never before")
    func halves() {
        var clock = started()
        clock.event(.modified, .version(2, inode: 1))
        clock.pass(300)
        clock.event(.modified, .version(3, inode: 1))
        clock.event(.closed)
        clock.pass(5000)
        #expect(clock.journal == ["400 read"])
    }

    @Test("A file created in place is not read before its writer closed it")
    func created() {
        var clock = started(.absent(2))
        clock.event(.touched, .version(1))
        clock.pass(300)
        clock.event(.modified, .version(2, inode: 101))
        clock.pass(300)
        clock.event(.closed)
        clock.pass(5000)
        #expect(clock.journal == ["700 read"])
    }

    @Test("A writer that keeps the file open in silence delays it by ten seconds")
    func keptOpen() {
        var clock = started()
        clock.event(.modified, .version(2, inode: 1))
        clock.pass(60_000)
        #expect(clock.journal == ["10000 read"])
    }

    /// The event of the last write came with the check before, which did not show the write yet.
    @Test("A write seen without its event does not shorten the rest of an open file")
    func seenLater() {
        var clock = started()
        clock.event(.modified, .version(2, inode: 1))
        clock.pass(300)
        clock.sight = .version(3, inode: 1)
        clock.pass(60_000)
        #expect(clock.journal == ["11000 read"])
    }

    @Test("A file that is written constantly is read once a second nevertheless")
    func restless() {
        var clock = started()
        for number in 0..<50 {
            clock.event(.modified, .version(2 + number, inode: 1))
            clock.event(.closed)
            clock.pass(60)
        }
        clock.pass(5000)
        #expect(clock.journal.count >= 3 && clock.journal.count <= 5, "\(clock.journal)")
        #expect(clock.journal.first == "1000 read" || clock.journal.first == "1020 read", "\(clock.journal)")
    }

    @Test("A file closed without a write is read after 100 ms, like any closed file")
    func closedUnwritten() {
        var clock = started()
        clock.event(.closed)
        clock.pass(5000)
        #expect(clock.journal == ["100 read"])
    }

    /// It may have a writer.
    @Test("A new file without an event of its own is read after a second of rest")
    func appeared() {
        var clock = started()
        // The folder was removed and made again: only that was told.
        clock.event(.touched, .version(2))
        clock.pass(500)
        clock.event(.touched, .version(3, inode: 102))
        clock.pass(5000)
        #expect(clock.journal == ["1500 read"])
    }

    @Test("A link that is swapped constantly is read after five seconds at the latest")
    func restlessLink() {
        var clock = started()
        for number in 2..<102 {
            clock.event(.touched, .version(number))
            clock.pass(60)
        }
        #expect(clock.journal.first == "5000 read", "\(clock.journal)")
    }

    /// A file is moved into place (or closed), and before anybody had time for that, the link is swapped. The file behind it
    /// may have a writer.
    @Test(
        "Events before a link is swapped do not count for the file behind it",
        arguments: [[.replaced, .touched], [.modified, .closed, .touched]] as [[FileEvent]]
    )
    func swapAfterChange(events: [FileEvent]) {
        var clock = started()
        clock.events(events, .version(2))
        clock.pass(300)
        clock.event(.touched, .version(3, inode: 102))
        clock.pass(5000)
        #expect(clock.journal == ["1300 read"])
    }

    /// That file rests for a second.
    @Test(
        "An open writer does not shorten the rest of the file behind a swapped link"
    )
    func swapWhileOpen() {
        var clock = started()
        clock.event(.modified, .version(2, inode: 1))
        clock.pass(9000)
        clock.events([.touched], .version(3))
        clock.pass(5000)
        #expect(clock.journal == ["10000 read"])
    }

    /// Another program renames files in the same folder, before and after anybody looks.
    @Test(
        "Another name moved into the folder does not change when the file is read",
        arguments: [([.replaced], "0 read"), ([.modified], "10000 read"), ([.closed], "100 read")]
            as [([FileEvent], String)]
    )
    func movedBeside(events: [FileEvent], journal: String) {
        var clock = started()
        clock.events(events, .version(2))
        for _ in 0..<8 {
            clock.pass(10)
            // It causes a look.
            clock.begin()
        }
        clock.pass(60_000)
        #expect(clock.journal == [journal])
    }

    @Test("A link swapped to the very same file causes no reading")
    func swapToSame() {
        var clock = started(.version(1))
        clock.event(.touched, .version(1))
        clock.pass(5000)
        #expect(clock.journal.isEmpty)
    }

    /// The file was moved into place, and written to again before anybody looked.
    @Test("A check is interpreted by the events until then")
    func toldMeanwhile() {
        var clock = started()
        clock.events([.replaced, .modified], .version(2))
        clock.pass(300)
        clock.event(.closed, .version(3, inode: 102))
        clock.pass(5000)
        #expect(clock.journal == ["400 read"])
    }

    @Test("A change without an event is detected, whatever events came before")
    func unexplained() {
        var clock = started()
        clock.event(.closed)
        clock.pass(50)
        clock.sight = .version(2, inode: 1)
        clock.begin()
        clock.pass(5000)
        #expect(clock.journal == ["1050 read"])
    }

    @Test("A change without an event is read within two seconds", arguments: [1, 500, 999])
    func polling(changedAt: Int) {
        var clock = started()
        clock.pass(changedAt)
        clock.sight = .version(2)
        clock.pass(10_000)
        #expect(clock.journal == ["2000 read"])
    }

    @Test("A file that differs at each check is read after five seconds at the latest")
    func restlessUnseen() {
        var clock = started()
        for number in 2..<20 {
            clock.sight = .version(number)
            clock.pass(1000)
        }
        #expect(clock.journal.first == "6000 read", "\(clock.journal)")
    }

    @Test("A file that changed while it was read is checked again")
    func changedMeanwhile() {
        var clock = started()
        clock.outcome = .changedMeanwhile
        clock.event(.replaced, .version(2))
        #expect(clock.journal == ["0 read"])
        clock.outcome = .applied
        clock.pass(5000)
        #expect(clock.journal == ["0 read", "1000 read"])
    }

    @Test("On demand the file is read immediately, even when nothing is watched", arguments: [false, true])
    func demanded(isOnDemandOnly: Bool) {
        var clock = WatchedClock(.version(1), known: .version(1), isOnDemandOnly: isOnDemandOnly)
        clock.begin()
        clock.sight = .version(2)
        clock.demand()
        clock.pass(5000)
        #expect(clock.journal == ["0 read on demand"])
    }

    @Test("Without watching the file is read on demand only, and never retried")
    func onDemandOnly() {
        var clock = WatchedClock(.version(2), known: .version(1), isOnDemandOnly: true)
        clock.outcome = .failed("bad")
        clock.begin()
        clock.demand()
        clock.pass(600_000)
        #expect(clock.journal == ["0 read on demand", "0 warn bad"])
        #expect(clock.deadline == nil)
    }
}

struct WatchWarningTests {
    private func broken(_ cause: String) -> WatchedClock {
        var clock = WatchedClock(.version(1), known: .version(1))
        clock.begin()
        clock.outcome = .failed(cause)
        return clock
    }

    /// The file does not change during that second.
    @Test("A bad file causes one warning after a second, and one report of its recovery")
    func once() {
        var clock = broken("bad")
        clock.event(.replaced, .version(2))
        clock.pass(4000)
        #expect(clock.journal == ["0 read", "1000 warn bad"])
        clock.outcome = .applied
        clock.event(.replaced, .version(3))
        clock.pass(60_000)
        #expect(clock.journal.dropFirst(2) == ["4000 read", "4000 recovered"])
    }

    @Test("A file that is bad for less than a second causes no report")
    func brief() {
        var clock = broken("half")
        clock.event(.replaced, .version(2))
        clock.pass(300)
        clock.outcome = .applied
        clock.event(.replaced, .version(3))
        clock.pass(60_000)
        #expect(clock.journal == ["0 read", "300 read"])
    }

    @Test("Each cause of a bad file leads to one warning, however many versions have it")
    func causes() {
        var clock = broken("bad")
        for number in 2..<30 {
            clock.event(.replaced, .version(number))
            clock.pass(1200)
        }
        clock.outcome = .failed("worse")
        clock.event(.replaced, .version(50))
        clock.pass(1200)
        clock.outcome = .failed("bad")
        clock.event(.replaced, .version(51))
        clock.pass(1200)
        #expect(clock.journal.filter { $0.contains("warn") } == ["1000 warn bad", "34600 warn worse"])
    }

    @Test("After a good file the same cause is reported again")
    func again() {
        var clock = broken("bad")
        clock.event(.replaced, .version(2))
        clock.pass(1200)
        clock.outcome = .applied
        clock.event(.replaced, .version(3))
        clock.outcome = .failed("bad")
        clock.event(.replaced, .version(4))
        clock.pass(1200)
        #expect(clock.journal.filter { $0.contains("warn") } == ["1000 warn bad", "2200 warn bad"])
    }

    @Test("A bad file that changes constantly is reported after five seconds")
    func restless() {
        var clock = broken("bad")
        for number in 2..<200 {
            clock.event(.replaced, .version(number))
            clock.pass(60)
        }
        #expect(clock.journal.filter { $0.contains("warn") } == ["5000 warn bad"])
    }

    @Test("A reading on demand is reported immediately")
    func demanded() {
        var clock = broken("bad")
        clock.demand()
        #expect(clock.journal == ["0 read on demand", "0 warn bad"])
    }

    /// A file that it names may exist by then.
    @Test("A bad file is read again after 5, 10, 20, 40 s, and then every minute")
    func retries() {
        var clock = broken("ca_file is missing")
        clock.event(.replaced, .version(2))
        clock.pass(200_000)
        let reads = clock.journal.filter { $0.hasSuffix("read") }
        #expect(
            reads == ["0 read", "5000 read", "15000 read", "35000 read", "75000 read", "135000 read", "195000 read"]
        )
        clock.outcome = .applied
        clock.pass(60_000)
        #expect(clock.journal.suffix(2) == ["255000 read", "255000 recovered"])
    }

    @Test("A file that disappears and returns unchanged is in use again")
    func backUnchanged() {
        var clock = broken("missing")
        clock.event(.touched, .absent(2))
        clock.pass(2000)
        clock.outcome = .unchanged
        clock.event(.replaced, .version(1))
        clock.pass(2000)
        #expect(clock.journal == ["1000 read", "1000 warn missing", "2000 read", "2000 recovered"])
    }
}
