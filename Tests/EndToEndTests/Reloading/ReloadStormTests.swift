#if YAML && os(Linux)
import Foundation
import HTTPDNS
import HTTPDNSClient
import HTTPDNSConfiguration
import HTTPDNSPrimitives
import Logging
import ServerRig
import Testing

/// A file that never rests, under load: whatever happens to it, requests go where some set of it said.
@Suite("A configuration file that changes a thousand times a minute", .enabled(if: ServerRig.isAvailable([.nginx])))
struct ReloadStormTests {
    /// The names that the file maps, and the only address that each may have besides the first one of all.
    private static let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    /// An address that a half of a file would lead to, and no whole one does.
    private static let forbidden = "127.0.0.5"
    private static let duration: Duration =
        ProcessInfo.processInfo.environment["HTTPDNS_TEST_LONG"] == nil ? .seconds(12) : .seconds(60)
    private static let perSecond = 200
    private static let changeEvery = Duration.milliseconds(25)

    /// Counts warnings by their cause.
    private final class Warnings: Sendable {
        private let seen = Lock<[String]>([])
        var all: [String] { seen.withLock { $0 } }

        var logger: Logger {
            var logger = Logger(label: "storm") { _ in Handler(warnings: self) }
            logger.logLevel = .debug
            return logger
        }

        private struct Handler: LogHandler {
            let warnings: Warnings
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.debug
            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }
            func log(event: LogEvent) {
                guard event.level >= .notice, event.message.description.hasPrefix("configuration file") else { return }
                warnings.seen.withLock {
                    $0.append("\(event.level) \(event.metadata?["error"]?.description ?? "")")
                }
            }
        }
    }

    /// The file and everything that is done to it.
    private struct Storm {
        let folder: String
        let name: String
        let authorities: String
        var path: String { folder + "/httpdns.yaml" }

        func text(_ address: String) -> String {
            "version: 1\nmappings:\n  \(name): \(address)\nclient: { ca_file: \(authorities) }\n"
        }

        func move(_ text: String) throws {
            let temporary = folder + "/.next"
            try Data(text.utf8).write(to: URL(fileURLWithPath: temporary))
            try #require(rename(temporary, path) == 0)
        }

        /// Writes in place, with a pause in the middle in which the file leads to an address that no whole file has.
        func writeHalves(_ address: String) async throws {
            let half = "version: 1\nmappings:\n  \(name): \(ReloadStormTests.forbidden)\n"
            let descriptor = open(path, O_WRONLY | O_TRUNC)
            try #require(descriptor >= 0)
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: Data(half.utf8))
            try await Task.sleep(for: .milliseconds(300))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(text(address).utf8))
            try handle.close()
        }

        /// As Kubernetes does: another folder, and the link to it swapped.
        func swapLink(_ address: String, _ number: Int) throws {
            let next = "..\(number)"
            try FileManager.default.createDirectory(atPath: folder + "/" + next, withIntermediateDirectories: true)
            try Data(text(address).utf8).write(to: URL(fileURLWithPath: "\(folder)/\(next)/httpdns.yaml"))
            try #require(symlink(next, folder + "/..tmp") == 0 && rename(folder + "/..tmp", folder + "/..data") == 0)
            try #require(symlink("..data/httpdns.yaml", folder + "/.link") == 0)
            try #require(rename(folder + "/.link", path) == 0)
        }

        /// Takes the file away in the way that root cannot pass over either, and after more than a second gives it back.
        func takeAway(_ address: String) async throws {
            if getuid() != 0 {
                chmod(path, 0)
                try await Task.sleep(for: .milliseconds(1500))
            } else {
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                try await Task.sleep(for: .milliseconds(1500))
                try FileManager.default.removeItem(atPath: path)
            }
            try move(text(address))
        }

        /// What a full disk leaves of a file that is written in place: its beginning. The write of the rest fails for real
        /// where the device says that it has no space (`/dev/full`); what stays is cut off in a word.
        func runOutOfDisk(_ address: String) async throws {
            let full = open("/dev/full", O_WRONLY)
            defer { close(full) }
            try #require(write(full, "x", 1) == -1 && errno == ENOSPC)
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data("version: 1\nmappings:\n  \(name): 127.0.".utf8))
            try handle.close()
            try await Task.sleep(for: .milliseconds(1500))
            try move(text(address))
        }
    }

    @Test("no request is lost, none is on an address that no set had, and each cause is one warning")
    func storm() async throws {
        let rig = try await ServerRig.shared()
        let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("httpdns-storm-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storm = Storm(folder: folder, name: "storm.wild.test", authorities: rig.certificateAuthorityFile)
        try storm.move(storm.text(Self.addresses[0]))

        let warnings = Warnings()
        var configuration = try HTTPDNSClient.Configuration.file(storm.path)
        configuration.makePatient()
        configuration.logger = warnings.logger
        let mark = rig.accessLogMark()
        let sent = Int(Self.duration.inSeconds * Double(Self.perSecond))
        try await withClient(configuration) { client in
            try await client.reload()
            let start = ContinuousClock.now
            let changes = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    var number = 0
                    while ContinuousClock.now - start < Self.duration {
                        number += 1
                        let address = Self.addresses[number % Self.addresses.count]
                        switch number {
                        case 50: try await storm.takeAway(address)
                        case 90: try await storm.runOutOfDisk(address)
                        case _ where number % 20 == 10: try await storm.writeHalves(address)
                        case _ where number % 7 == 3:
                            try storm.swapLink(address, number)
                        default: try storm.move(storm.text(address))
                        }
                        try await Task.sleep(for: Self.changeEvery)
                    }
                    return number
                }
                for number in 0..<sent {
                    try await Task.sleep(until: start + .seconds(1) / Self.perSecond * number, clock: .continuous)
                    group.addTask {
                        let response = try await client.get("https://\(storm.name):\(rig.tlsPort)/echo?storm=\(number)")
                        #expect(response.status == .ok)
                        try await response.text()
                        return 0
                    }
                }
                return try await group.reduce(0, +)
            }
            // The last word of the file is the last word.
            try storm.move(storm.text(Self.addresses[0]))
            try await client.reload()
            let last = try await client.resolve(storm.name)
            #expect(last.endpoints.map(\.address.description) == [Self.addresses[0]])

            let lines = try await rig.awaitAccessLog(since: mark, count: sent) { $0.target.contains("storm=") }
            #expect(lines.count == sent, "each request was logged once")
            let wrong = lines.filter { !Self.addresses.contains($0.address) }
            #expect(wrong.isEmpty, "\(wrong.count) on an address that no whole file had: \(wrong.prefix(3))")
            #expect(Set(lines.map(\.address)) == Set(Self.addresses))
            let status = client.reloads
            #expect(status.failure == nil)
            // How many there are depends on the machine; that there were some does not.
            #expect(changes > 90 && status.successes > 10, "\(changes) changes, \(status.successes) applied")
            // Two causes lasted for more than a second, and each ended.
            let seen = warnings.all
            #expect(seen.count { $0.hasPrefix("warning") } == 2, "\(seen)")
            #expect(Set(seen.filter { $0.hasPrefix("warning") }).count == 2, "\(seen)")
            #expect(seen.count { $0.hasPrefix("notice") } == 2, "\(seen)")
            print("\(changes) changes, \(status.successes) applied, \(lines.count) requests")
        }
    }
}
#endif
