// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// A file that never rests, under load: whatever happens to it, requests go where some set of it said.
@Suite("A configuration file that changes under load", .serialized, .enabled(if: ServerRig.isAvailable([.nginx])))
struct ReloadStormTests {
    /// The only addresses that the file ever has for its name.
    private static let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]

    /// Runs `body` with a client that follows a file, and looks at what the servers and the log saw.
    /// - Parameter body: Returns how many requests it sent.
    private func withStorm(
        onDisk: Bool,
        _ body: (HTTPDNSClient, StormyFile, StormLog, ServerRig) async throws -> Int
    ) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let isDisk = onDisk && SmallDisk.mount(at: folder.path)
        defer {
            if isDisk { SmallDisk.unmount(folder.path) }
        }
        let authorities = rig.certificateAuthorityFile
        let file = StormyFile(folder: folder, name: "storm.wild.test", authorities: authorities, isDisk: isDisk)
        try file.move(file.text(Self.addresses[0]))

        let log = StormLog()
        var configuration = try HTTPDNSClient.Configuration.file(file.path)
        configuration.makePatient()
        configuration.logger = log.logger
        let mark = rig.accessLogMark()
        try await withClient(configuration) { client in
            // Watching has begun when a reload is answered.
            try await client.reload()
            await log.await { $0 == .reloaded }
            let sent = try await body(client, file, log, rig)
            let lines = try await rig.awaitAccessLog(since: mark, count: sent) { $0.target.contains("storm=") }
            #expect(lines.count == sent, "each request was logged once")
            let wrong = lines.filter { !Self.addresses.contains($0.address) }
            #expect(wrong.isEmpty, "\(wrong.count) on an address that no whole file had: \(wrong.prefix(3))")
            #expect(Set(lines.map(\.address)) == Set(Self.addresses))
            // Two causes were told, and each ended.
            #expect(log.warnings.count == 2 && Set(log.warnings).count == 2, "\(log.warnings)")
            #expect(log.all.count { $0 == .recovered } == 2, "\(log.all.count)")
            #expect(client.reloads.failure == nil)
            print(
                """
                \(client.reloads.successes) sets applied, \(client.reloads.failures) readings refused, \(lines.count) requests, \
                \(sent - lines.count) lost, \(wrong.count) on other addresses, one warning each: \(log.warnings) \
                (full disk \(isDisk ? "real" : "simulated"))
                """
            )
        }
    }

    private func request(_ client: HTTPDNSClient, _ file: StormyFile, _ rig: ServerRig, _ number: Int) async throws {
        let response = try await client.get("https://\(file.name):\(rig.tlsPort)/echo?storm=\(number)")
        #expect(response.status == .ok)
        try await response.text()
    }

    /// Changes the file; returns when it may be changed again.
    private func change(
        _ file: StormyFile,
        _ change: StormyFile.Change,
        _ address: String,
        _ number: Int,
        _ log: StormLog
    ) async throws {
        func isTold() async {
            await log.await { line in
                guard case .warning = line else { return false }
                return true
            }
        }
        switch change {
        case .move: try file.move(file.text(address))
        case .halves: try await file.writeHalves(address)
        case .link: try file.swapLink(address, number)
        case .absence: try await file.takeAway(address, until: isTold)
        case .fullDisk: try await file.runOutOfDisk(address, until: isTold)
        }
    }

    /// Each change waits until the client has told of it.
    /// Nothing else is ever applied.
    @Test("Each whole content is applied once and in order, and no request is lost")
    func steps() async throws {
        try await withStorm(onDisk: false) { client, file, log, rig in
            let changes: [StormyFile.Change] =
                [.move, .halves, .link, .halves, .move, .absence, .link, .move, .fullDisk, .halves]
                + [.link, .link, .move, .move, .move]
            let end = Gate()
            return try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var sent = 0
                        while !end.isOpen {
                            try await request(client, file, rig, sent)
                            sent += 1
                            // Other tests want the machine, too.
                            try await Task.sleep(for: .milliseconds(10))
                        }
                        return sent
                    }
                }
                group.addTask {
                    defer { end.open() }
                    for (number, kind) in changes.enumerated() {
                        let address = Self.addresses[(number + 1) % Self.addresses.count]
                        try await change(file, kind, address, number, log)
                        await log.await { $0 == .reloaded }
                        let seen = try await client.resolve(file.name).endpoints.map(\.address.description)
                        #expect(seen == [address], "after \(kind), change \(number)")
                        // One that is sent after the change goes where the change says.
                        try await request(client, file, rig, number)
                    }
                    return changes.count
                }
                return try await group.reduce(0, +)
            }
        }
    }

    /// A thousand changes a minute, at their own pace, whether the client keeps up or not.
    /// No address is used that no set had, and each cause is one warning.
    @Test(
        "A file that changes for a minute loses and misdirects no request",
        .enabled(if: ProcessInfo.processInfo.environment["HTTPDNS_TEST_LONG"] != nil)
    )
    func minute() async throws {
        let duration = Duration.seconds(60)
        let perSecond = 200
        try await withStorm(onDisk: true) { client, file, log, rig in
            let start = ContinuousClock.now
            let sent = Int(duration.inSeconds * Double(perSecond))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var number = 0
                    while ContinuousClock.now - start < duration {
                        number += 1
                        let address = Self.addresses[number % Self.addresses.count]
                        let kind: StormyFile.Change =
                            switch number {
                            case 50: .absence
                            case 90: .fullDisk
                            case _ where number % 20 == 10: .halves
                            case _ where number % 7 == 3: .link
                            default: .move
                            }
                        try await change(file, kind, address, number, log)
                        try await Task.sleep(for: .milliseconds(25))
                    }
                    print("\(number) changes in \(ContinuousClock.now - start)")
                    #expect(number > 100)
                }
                for number in 0..<sent {
                    try await Task.sleep(until: start + .seconds(1) / perSecond * number, clock: .continuous)
                    group.addTask { try await request(client, file, rig, number) }
                }
                try await group.waitForAll()
            }
            // The last word of the file is the last word.
            try file.move(file.text(Self.addresses[0]))
            try await client.reload()
            let last = try await client.resolve(file.name).endpoints.map(\.address.description)
            #expect(last == [Self.addresses[0]])
            return sent
        }
    }
}
#endif
