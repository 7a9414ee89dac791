// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSMonitor

struct FileStoreTests {
    private typealias Store = HTTPDNSTrafficMonitor.FileStore

    private let folder: TemporaryFolder
    private var path: String { folder.path("traffic") }
    private var first: String { path + "/traffic-0000000001.jsonl" }

    init() throws { folder = try TemporaryFolder() }

    private static func limits(_ change: (inout HTTPDNSTrafficMonitor.FileStore.Limits) -> Void)
        -> HTTPDNSTrafficMonitor.FileStore.Limits
    {
        var limits = HTTPDNSTrafficMonitor.FileStore.Limits()
        change(&limits)
        return limits
    }

    /// A client whose calls are answered in process, and a monitor with a file store.
    private func monitored(_ files: HTTPDNSTrafficMonitor.FileStore) async throws -> MonitoredClient {
        try await MonitoredClient([:], .with { $0.files = files }) { configuration in
            configuration.schemeHandlers["app"] = { _ in
                HTTPDNSClient.Response(head: .init(status: .ok), body: .bytes([1]))
            }
        }
    }

    @Test("The records are there after the store was opened again")
    func openedAgain() async throws {
        var expected: [Monitor.Record] = []
        for round in 0..<3 {
            let files = try await Store.open(path)
            let monitored = try await monitored(files)
            for number in 0..<20 { await monitored.get("app:\(round)-\(number)") }
            expected += monitored.monitor.records
            #expect(try await files.records() == expected)
            #expect(try await files.records(newest: 5) == expected.suffix(5))
            #expect(files.counters.written == 20 && files.counters.dropped == 0 && files.recordCount == expected.count)
            await files.close()
            await files.close()
            await #expect(throws: Monitor.Error.self) { try await files.records() }
            await monitored.get("app:late")
            await files.flush()
            #expect(files.counters.written == 20 && files.counters.dropped == 1)
            try await monitored.client.shutdown()
        }
        #expect(expected.count == 60)
        let permissions = try FileManager.default.attributesOfItem(atPath: first)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
    }

    @Test("The files stay within their limits of bytes and records")
    func limits() async throws {
        let limits = Self.limits {
            $0.bytes = .kibibytes(64)
            $0.records = 40
        }
        let files = try await Store.open(path, limits: limits)
        let monitored = try await monitored(files)
        for number in 0..<200 {
            await monitored.get("app:\(number)")
            guard number.isMultiple(of: 10) else { continue }
            await files.flush()
            let sizes = try folder.sizes(of: path)
            #expect(sizes.reduce(0, +) <= 64 * 1024 && Int64(sizes.reduce(0, +)) == files.storedBytes)
        }
        let urls = try await files.records().map(\.url)
        #expect((35...40).contains(urls.count) && urls == (200 - urls.count..<200).map { "app:\($0)" })
        try await monitored.client.shutdown()
    }

    @Test("Old records are removed, and none when the wall clock jumps ahead")
    func age() async throws {
        let time = Lock<Int64>(1_000_000_000_000)
        let clock = HTTPDNSManualClock()
        let files = try await Store.open(
            path,
            limits: Self.limits { $0.age = .seconds(80) },
            logger: nil,
            clock: clock,
            wallClock: WallClock { time.withLock { $0 } }
        )
        let monitored = try await monitored(files)
        for number in 0..<30 {
            await monitored.get("app:\(number)")
            await files.flush()
            clock.advance(by: .seconds(10))
        }
        let urls = try await files.records().map(\.url)
        #expect((7...9).contains(urls.count) && urls.last == "app:29")
        time.withLock { $0 += 1_000_000_000 }
        #expect(try await files.records().map(\.url) == urls)
        clock.advance(by: .seconds(1000))
        #expect(try await files.records().isEmpty)
        #expect(try folder.sizes(of: path).isEmpty)
        try await monitored.client.shutdown()
    }

    @Test("An unfinished last line is cut off, and a damaged line is left out", arguments: [1, 50, 400])
    func unfinished(cut: Int) async throws {
        do {
            let files = try await Store.open(path)
            let monitored = try await monitored(files)
            for number in 0..<10 { await monitored.get("app:\(number)") }
            await files.close()
            try await monitored.client.shutdown()
        }
        var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: first)))
        bytes.removeLast(cut)
        bytes[5] = 0xff
        try Data(bytes).write(to: URL(fileURLWithPath: first))
        let files = try await Store.open(path)
        #expect(try await files.records().map(\.url) == (1..<9).map { "app:\($0)" })
        let monitored = try await monitored(files)
        await monitored.get("app:new")
        #expect(try await files.records().map(\.url) == (1..<9).map { "app:\($0)" } + ["app:new"])
        try await monitored.client.shutdown()
    }

    @Test("A folder in use, of others, or without a parent is refused with the reason")
    func refused() async throws {
        let files = try await Store.open(path)
        let busy = await #expect(throws: Monitor.Error.self) { try await Store.open(path) }
        #expect(busy?.path == path && busy?.message.contains("another process or store uses it") == true)
        withExtendedLifetime(files) {}
        let open = folder.path("open")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: open)
        let wide = await #expect(throws: Monitor.Error.self) { try await Store.open(open) }
        #expect(wide?.message.contains("0700") == true)
        let missing = await #expect(throws: Monitor.Error.self) { try await Store.open(folder.path("a/b")) }
        #expect(missing?.message.contains("create the folder above it") == true)
        #expect(symlink(path, folder.path("link")) == 0)
        for link in ["link", "link/", "link//", "link/.", "link/./"] {
            let error = await #expect(throws: Monitor.Error.self) { try await Store.open(folder.path(link)) }
            #expect(error?.message.contains("it cannot be opened") == true, "\(link)")
        }
    }

    @Test("A file that is no file of records fails the opening", arguments: ["folder", "link", "pipe"])
    func unreadable(kind: String) async throws {
        try await Store.open(path).close()
        switch kind {
        case "folder": try FileManager.default.createDirectory(atPath: first, withIntermediateDirectories: false)
        case "link": #expect(symlink("/dev/null", first) == 0)
        default: #expect(mkfifo(first, 0o600) == 0)
        }
        let error = await #expect(throws: Monitor.Error.self) { try await Store.open(path) }
        #expect(error?.path == first && error?.message.contains("move it out of the folder") == true)
        // The folder is free.
        try FileManager.default.removeItem(atPath: first)
        #expect(try await Store.open(path).recordCount == 0)
    }

    /// A program that runs cannot be cut, also not by the superuser.
    @Test("A file that cannot be cut fails the opening")
    func uncut() async throws {
        try await Store.open(path).close()
        try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: first)
        let process = Process()
        process.executableURL = URL(filePath: first)
        process.arguments = ["600"]
        try process.run()
        defer {
            // A thread of the tests may have blocked other signals.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let error = await #expect(throws: Monitor.Error.self) { try await Store.open(path) }
        #expect(error?.path == first)
    }

    @Test("A canceled task writes what waits, and frees the folder")
    func canceled() async throws {
        let files = try await Store.open(path)
        let monitored = try await monitored(files)
        for number in 0..<20 { await monitored.get("app:\(number)") }
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await files.flush()
            #expect(files.counters.written == 20)
            await files.close()
        }.value
        #expect(try await Store.open(path).recordCount == 20)
        await monitored.get("app:late")
        await files.flush()
        #expect(files.counters.written == 20 && files.counters.dropped == 1)
        try await monitored.client.shutdown()
    }

    @Test("A store without a thread drops what waits, and frees its folder")
    func noThread() async throws {
        let hasThreads = Lock(true)
        let work = SerialWork(startThread: { body in hasThreads.withLock { $0 } && DetachedThread.start(body) })
        let files = try await Store.open(path, clock: SystemTimeSource(), work: work)
        let monitored = try await monitored(files)
        hasThreads.withLock { $0 = false }
        for number in 0..<5 { await monitored.get("app:\(number)") }
        await files.close()
        // The thread of the opening may have ended later.
        #expect(files.counters.written + files.counters.dropped == 5)
        #expect(try await Store.open(path).recordCount == files.counters.written)
        try await monitored.client.shutdown()
    }

    @Test("A store that cannot write costs one warning, and writes again later")
    func failing() async throws {
        let log = RecordedLog()
        let files = try await Store.open(path, logger: log.logger())
        // A folder in the place of the file: each write fails.
        try FileManager.default.createDirectory(atPath: first, withIntermediateDirectories: false)
        let monitored = try await monitored(files)
        for number in 0..<20 { #expect(await monitored.get("app:\(number)") == [1]) }
        await files.flush()
        #expect(files.counters.dropped == 20 && files.counters.written == 0 && files.recordCount == 0)
        #expect(monitored.monitor.records.count == 20)
        let warnings = log.events.filter { $0.level == .warning }
        #expect(warnings.map { "\($0.message)" } == ["traffic records cannot be written"])
        try FileManager.default.removeItem(atPath: first)
        await monitored.get("app:last")
        #expect(try await files.records().map(\.url) == ["app:last"])
        try await monitored.client.shutdown()
    }

    /// A limit on the length of files makes real writes fail in a process of its own, also half ones.
    @Test("A full disk costs records and one warning, and no call")
    func fullDisk() async throws {
        let run = try await Command(try BuiltProduct.path("httpdns-monitor-probe"), ["full", path]).run()
        #expect(run.status == 0, "\(run)")
        let words = run.output.split(separator: "\n").last?.split(separator: " ").map(String.init) ?? []
        try #require(words.count == 7, "\(run)")
        let numbers = words.compactMap { Int($0) }
        #expect(numbers[0] == 500 && numbers[1] > 0 && numbers[2] > 0 && numbers[1] + numbers[2] == 500, "\(run)")
        #expect(numbers[3] == numbers[1] + 1 && numbers[4] == numbers[3] && words[5] == "app:last", "\(run)")
        #expect(numbers[5] == 1, "one warning")
        let files = try await Store.open(path)
        let urls = try await files.records(newest: .max).map(\.url)
        #expect(urls.count == numbers[4] && urls.last == "app:last" && Set(urls).count == urls.count)
        await files.close()
    }

    /// The writer waits for a reader of a pipe, as for a disk that does not answer.
    @Test("A store that blocks delays no call, and its waiting records are bounded")
    func blocking() async throws {
        let files = try await Store.open(path)
        #expect(mkfifo(first, 0o600) == 0)
        let monitored = try await monitored(files)
        let count = Store.maximumWaiting + 100
        for number in 0..<count { #expect(await monitored.get("app:\(number)") == [1]) }
        let counters = files.counters
        #expect(counters.written == 0 && counters.dropped == 100)
        #expect(monitored.monitor.counters.calls.calls == count && monitored.monitor.records.count == 1000)
        // The pipe gives way to a file, and what waited is written there. The writer has the pipe open.
        let other = folder.path("pipe")
        #expect(rename(first, other) == 0)
        let reader = open(other, O_RDONLY | O_NONBLOCK)
        #expect(reader >= 0)
        await files.flush()
        close(reader)
        #expect(files.counters.written + files.counters.dropped == count)
        #expect(try await files.records(newest: 1).map(\.url).last?.hasPrefix("app:") == true)
        try await monitored.client.shutdown()
    }

    /// The number of kills; `HTTPDNS_TEST_KILLS=1000` asks for more.
    private static let kills = ProcessInfo.processInfo.environment["HTTPDNS_TEST_KILLS"].flatMap { Int($0) } ?? 50

    /// Each process appends to the files that the killed ones have left.
    @Test("After a kill at any moment the store opens with all written records")
    func kills() async throws {
        var next = 0
        for number in 0..<Self.kills {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(filePath: try BuiltProduct.path("httpdns-monitor-probe"))
            process.arguments = ["write", path, "\(next)"]
            process.standardOutput = output
            try process.run()
            // The first records are written.
            _ = output.fileHandleForReading.availableData
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<20_000)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(process.terminationReason == .uncaughtSignal, "process \(number)")
            let files = try await Store.open(path)
            let count = files.recordCount
            let urls = try await files.records(newest: 100).map(\.url)
            #expect(urls == (count - urls.count..<count).map { "app:\($0)" }, "process \(number)")
            let rest = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            if let last = rest.split(separator: "\n").last.flatMap({ Int($0) }) {
                // What was reported as written is there.
                #expect(count > last, "process \(number)")
            }
            #expect(count >= next + 10)
            next = count
            await files.close()
        }
        let files = try await Store.open(path)
        let urls = try await files.records(newest: .max).map(\.url)
        #expect(urls == (0..<next).map { "app:\($0)" })
        #expect(next >= Self.kills * 10)
    }
}

extension TemporaryFolder {
    /// Returns the lengths of the files in a folder.
    fileprivate func sizes(of folder: String) throws -> [Int] {
        try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
            try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size] as? Int ?? 0
        }
    }
}
