// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct CrashTests {
    private static let isAlone = ProcessInfo.processInfo.environment["HTTPDNS_TEST_ALONE"] != nil
    /// The number of kills during writes. A run of its own has more; `HTTPDNS_TEST_KILLS` sets another number.
    private static let kills =
        ProcessInfo.processInfo.environment["HTTPDNS_TEST_KILLS"].flatMap { Int($0) } ?? (isAlone ? 1000 : 40)
    /// The length of a long body: 1 GiB in a run of its own.
    private static let length = isAlone ? 1 << 30 : 256 << 20

    private static func probe(_ arguments: [String]) throws -> (process: Process, output: Pipe) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: try BuiltProduct.path("httpdns-cache-probe"))
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    /// Returns the number of responses in a folder, all of which have right bytes.
    private static func checkedCount(_ path: String) throws -> Int {
        let (process, output) = try probe(["check", path])
        let line = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0 && line.hasPrefix("ready"))
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }

    private static func size(of folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { sum, name in
            // A file may be removed meanwhile.
            sum + ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size] as? Int) ?? 0)
        }
    }

    /// Each process checks all bytes that the killed ones have left, before it writes.
    @Test("A folder opens after a kill at any moment, with right bytes and within its limit")
    func kills() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("cache")
        var (entries, killsDuringWrites) = (0, 0)
        // Every fourth process is killed while it opens and checks the folder, the others while they write.
        for number in 0..<(Self.kills * 4 + 2) / 3 {
            let (process, output) = try Self.probe(["write", path])
            let isWriting = !number.isMultiple(of: 4)
            if isWriting {
                killsDuringWrites += 1
                let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
                entries = max(entries, line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
                #expect(line.hasPrefix("ready"), "process \(number)")
            }
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<(isWriting ? 8_000 : 30_000))))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(
                process.terminationReason == .uncaughtSignal,
                "process \(number) ended with \(process.terminationStatus)"
            )
            // The limit, and one response that is being written.
            if FileManager.default.fileExists(atPath: path) { #expect(try Self.size(of: path) <= 1 << 20 + 210_000) }
        }
        #expect(entries > 0 && killsDuringWrites == Self.kills)
        // No process has opened the folder since the last kill.
        #expect(try Self.checkedCount(path) > 0)
    }

    @Test("A cache is in memory while another process has its folder, and takes it over")
    func otherProcess() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("cache")
        let (process, output) = try Self.probe(["write", path])
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        #expect(line.hasPrefix("ready"))
        let origin = ScriptedWire([Scripted("one", ["cache-control": "max-age=60"])])
        // The other process has the time of the system.
        let time = TestTime(start: Int64(Date().timeIntervalSince1970))
        let client = try await CachedClient(origin, folder: path, isFolderTaken: true, time: time)
        #expect(!client.cache.isFolderInUse && client.cache.counters.folderOutages == 1)
        #expect(texts([try await client.get(), try await client.get()]) == ["miss one", "hit one"])
        try await until { try cacheFiles(in: path).contains { $0.hasSuffix(".response") } }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try await client.cache.awaitFolder(client.clock)
        #expect(client.cache.entryCount > 1 && client.cache.counters.folderOutages == 1)
        #expect(texts([try await client.get()]) == ["hit one"])
    }

    @Test("Memory does not grow with the length of a body that is stored and replayed")
    func memory() throws {
        let folder = try TemporaryFolder()
        let (process, output) = try Self.probe(["large", folder.path("cache"), "\(Self.length)"])
        let line = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let words = line.split(whereSeparator: \.isWhitespace)
        #expect(words.dropLast() == ["miss", "hit"])
        let growth = try #require(words.last.flatMap { Int($0) })
        // It is 2 to 5 MB, and ten times as much when the threads of the folder are starved: each has memory of its own.
        #expect(growth < 64 << 20)
    }
}
