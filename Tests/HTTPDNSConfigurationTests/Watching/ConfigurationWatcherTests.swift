// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct ConfigurationWatcherTests {
    private struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    private static let missing =
        "/nowhere/f: the configuration file cannot be read: No such file or directory "
        + "(check the path; it is as seen from the working directory)"

    /// The functions of a watcher that ran, and its pauses.
    private final class Steps: Sendable {
        private let list = Lock<[String]>([])

        @Sendable func note(_ step: String) { list.withLock { $0.append(step) } }

        var noted: [String] { list.withLock { $0 } }
    }

    private let file = ScriptedFile("one")
    private let clock = HTTPDNSManualClock()
    private let reports = ReportList()

    private func watcher(
        isOnDemandOnly: Bool = false,
        clock: (any TimeSource)? = nil,
        noting steps: Steps = Steps()
    ) -> ConfigurationWatcher<String> {
        // Each function takes longer than a stretch of work.
        let time = HTTPDNSManualClock()
        @Sendable func note(_ step: String) {
            time.advance(by: .microseconds(250))
            steps.note(step)
            WorkPace.pauseIfDue()
        }
        return ConfigurationWatcher(
            file,
            clock: clock ?? self.clock,
            reading: file.reading,
            isOnDemandOnly: isOnDemandOnly,
            makePace: { WorkPace(time: time, rest: { steps.note("pause") }) },
            prepare: { bytes in
                note("prepare")
                let text = String(decoding: bytes, as: UTF8.self)
                if text.hasPrefix("bad") { throw Refused(description: text) }
                return ConfigurationWatcher.Prepared {
                    note("apply")
                    return text
                } release: {
                    note("release")
                }
            },
            report: { [reports] in reports.note($0) }
        )
    }

    /// The next report. Until it comes, the clock goes on in steps of 10 ms, and only while the watcher sleeps: a busy machine
    /// does not make it late.
    private func nextReport() async -> [String] {
        while reports.isEmpty {
            await clock.sleepers(atLeast: 1)
            if reports.isEmpty { clock.advance(by: .milliseconds(10)) }
        }
        return await reports.next()
    }

    /// Runs `body` with a watcher that is started, and ended afterwards.
    private func withWatcher(
        isOnDemandOnly: Bool = false,
        _ body: (ConfigurationWatcher<String>) async throws -> Void
    ) async throws {
        let watcher = watcher(isOnDemandOnly: isOnDemandOnly)
        watcher.start()
        try await body(watcher)
        await watcher.end()
    }

    @Test("New content is read and former content freed with pauses for requests")
    func pauses() async throws {
        let steps = Steps()
        let watcher = watcher(noting: steps)
        watcher.start()
        file.set("two")
        #expect(await reports.next() == ["applied two"])
        await watcher.end()
        #expect(steps.noted == ["prepare", "pause", "apply", "release", "pause"])
    }

    @Test("A file moved into place is applied without any wait")
    func applies() async throws {
        try await withWatcher { _ in
            file.set("two")
            #expect(await reports.next() == ["applied two"])
            file.set("three")
            #expect(await reports.next() == ["applied three"])
        }
    }

    /// A clock that is looked at, right after a look at the file has ended, by somebody who then moves a new file into place.
    private final class BusyClock: TimeSource {
        private let clock = HTTPDNSManualClock()
        private let file: ScriptedFile
        private let isMoved = Lock(false)

        init(_ file: ScriptedFile) { self.file = file }

        func now() -> MonotonicTime {
            let isFirst = isMoved.withLock { isMoved in
                guard file.looks > 0, !isMoved else { return false }
                isMoved = true
                return true
            }
            if isFirst { file.set("two") }
            return clock.now()
        }

        func sleep(until deadline: MonotonicTime) async throws { try await clock.sleep(until: deadline) }
    }

    @Test("A file moved into place right after a check is read once, immediately")
    func movedAfterLook() async throws {
        let watcher = watcher(clock: BusyClock(file))
        watcher.start()
        #expect(await reports.next() == ["applied two"])
        #expect(file.reads == 1)
        await watcher.end()
    }

    @Test("A file with equal content is applied again only on demand")
    func unchanged() async throws {
        try await withWatcher { watcher in
            file.set("one")
            #expect(await reports.next() == ["unchanged"])
            let renewed = try await watcher.renew()
            #expect(renewed == "one")
            #expect(await reports.next() == ["applied one"])
        }
    }

    @Test("A file written in place is applied 100 ms after its writer closed it")
    func settles() async throws {
        try await withWatcher { _ in
            file.set("half", telling: .modified)
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .milliseconds(300))
            file.set("whole", telling: .modified)
            file.set("whole", telling: .closed)
            #expect(await nextReport() == ["applied whole"])
            #expect(file.reads == 1)
        }
    }

    /// Later changes of the file are still applied.
    @Test("A bad file is reported once after a second, and so is its recovery")
    func warnings() async throws {
        try await withWatcher { watcher in
            file.set("bad: line 3")
            #expect(await reports.next() == ["failed bad: line 3"])
            #expect(await nextReport() == ["warning bad: line 3"])
            file.set("bad: line 3")
            #expect(await reports.next() == ["failed bad: line 3"])
            file.set("good")
            // No second warning came between.
            #expect(await reports.next(2) == ["applied good", "recovered"])
        }
    }

    @Test("A file that disappears and returns unchanged is reported as recovered")
    func gone() async throws {
        try await withWatcher { _ in
            file.set(nil, telling: .touched)
            #expect(await nextReport() == ["failed \(Self.missing)"])
            #expect(await nextReport() == ["warning \(Self.missing)"])
            file.set("one")
            #expect(await reports.next(2) == ["unchanged", "recovered"])
        }
    }

    @Test("Without events the checks show a change, and that is reported once")
    func polls() async throws {
        file.tellNothing()
        try await withWatcher { _ in
            #expect(await reports.next() == ["polling"])
            await clock.sleepers(atLeast: 1)
            file.set("two", telling: nil)
            clock.advance(by: .seconds(1))
            // Noticed by the look, applied after a second in which it stays.
            #expect(await nextReport() == ["applied two"])
        }
    }

    @Test("A reload on demand that fails throws, and is reported immediately")
    func demandFails() async throws {
        try await withWatcher(isOnDemandOnly: true) { watcher in
            file.set("bad", telling: nil)
            await #expect(throws: Refused.self) { try await watcher.renew() }
            #expect(await reports.next(2) == ["failed bad", "warning bad"])
        }
    }

    /// Callers that wait for a reload receive an error.
    @Test("After its end the watcher reads nothing and leaves no timer")
    func ends() async {
        let watcher = watcher()
        watcher.start()
        file.set("bad", telling: .replaced)
        #expect(await reports.next() == ["failed bad"])
        await clock.sleepers(atLeast: 1)
        await watcher.end()
        #expect(file.hasEnded)
        let reads = file.reads
        file.set("two")
        await #expect(throws: ConfigurationWatcher<String>.Ended.self) { try await watcher.renew() }
        #expect(file.reads == reads)
        while clock.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
    }

    @Test("A reload on demand that meets the watcher's end throws")
    func endsWithDemand() async {
        let watcher = watcher()
        let renewal = Task { try await watcher.renew() }
        watcher.cancel()
        watcher.start()
        // Either it came before the end and is answered, or after it and is refused.
        await #expect(throws: ConfigurationWatcher<String>.Ended.self) { try await renewal.value }
    }
}
