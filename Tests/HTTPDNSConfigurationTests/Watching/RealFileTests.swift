// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSConfiguration

/// Real files and inotify. Every step awaits what is told, and no clock.
struct RealFileTests {
    private let reports = ReportList()

    private func withWatcher(
        _ path: String,
        _ body: (ConfigurationWatcher<String>) async throws -> Void
    ) async throws {
        let file = LocalFile(path)
        let watcher = ConfigurationWatcher<String>(
            file,
            reading: try file.read(),
            prepare: { bytes in ConfigurationWatcher.Prepared { String(decoding: bytes, as: UTF8.self) } },
            report: { [reports] in reports.note($0) }
        )
        watcher.start()
        // Watching has begun when a demand is answered.
        let text = try await watcher.renew()
        #expect(await reports.next() == ["applied \(text)"])
        try await body(watcher)
        await watcher.end()
    }

    /// A writer of the file as it is. No child process gets it from here: the system tells of closing when all have closed
    /// it.
    private func writer(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private func withFolder(_ body: (TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await body(folder)
    }

    @Test("Events before the number of their watch is known are kept")
    func armed() async throws {
        try await withFolder { folder in
            let watch = try #require(FolderWatch(of: folder.path("f.yaml")))
            var events: [FileEvent] = []
            let isWatched = watch.arm { descriptor, path, mask in
                defer {
                    _ = try? folder.write("1", to: "f.yaml")
                    events = watch.takeEvents()
                }
                return inotify_add_watch(descriptor, path, mask)
            }
            #expect(isWatched && events == [.touched, .modified, .closed])
        }
    }

    /// `/proc` stands for a network file system: its changes cause no events.
    @Test("A link that moves to a file system without events is followed, and back")
    func movedToRemote() async throws {
        try await withFolder { folder in
            try folder.write("0", to: "local.yaml")
            let link = folder.path("f.yaml")
            func move(to target: String) throws {
                #expect(symlink(target, folder.path("next")) == 0)
                #expect(rename(folder.path("next"), link) == 0)
            }
            try move(to: folder.path("local.yaml"))
            try await withWatcher(link) { _ in
                let version = try String(contentsOfFile: "/proc/version", encoding: .utf8)
                try move(to: "/proc/version")
                #expect(await reports.next() == ["applied \(version)"])
                try folder.write("1", to: "local.yaml")
                try move(to: folder.path("local.yaml"))
                #expect(await reports.next() == ["applied 1"])
                try folder.write("2", to: "local.yaml")
                #expect(await reports.next() == ["applied 2"])
            }
        }
    }

    @Test("A file that is moved into place is applied every time")
    func renamed() async throws {
        try await withFolder { folder in
            try folder.write("0", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                for number in 1...20 {
                    try folder.replace("f.yaml", with: "\(number)")
                    #expect(await reports.next() == ["applied \(number)"])
                }
            }
        }
    }

    @Test("A file written in place is applied when it is closed, not while writing pauses")
    func inPlace() async throws {
        try await withFolder { folder in
            try folder.write("old", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                let handle = try writer(folder.path("f.yaml"))
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: Data("first ".utf8))
                // Longer than a closed file would have to rest. It is no wait for something to happen, but for nothing.
                try await Task.sleep(for: .milliseconds(300))
                try handle.write(contentsOf: Data("second".utf8))
                try handle.close()
                #expect(await reports.next() == ["applied first second"])
            }
        }
    }

    @Test("Closing a removed file does not trigger a read of its half-written successor")
    func closedAfterwards() async throws {
        try await withFolder { folder in
            try folder.write("old", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                let late = try writer(folder.path("f.yaml"))
                try folder.replace("f.yaml", with: "1")
                #expect(await reports.next() == ["applied 1"])
                let handle = try writer(folder.path("f.yaml"))
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: Data("first ".utf8))
                try late.close()
                // No wait for something to happen, but for nothing, as above.
                try await Task.sleep(for: .milliseconds(300))
                try handle.write(contentsOf: Data("second".utf8))
                try handle.close()
                #expect(await reports.next() == ["applied first second"])
            }
        }
    }

    /// The link `..data` is swapped, and the folder that it led to is removed.
    @Test("A ConfigMap mounted by Kubernetes is reloaded when its link is swapped")
    func linkSwap() async throws {
        try await withFolder { folder in
            try folder.makeFolder("..1")
            try folder.write("1", to: "..1/f.yaml")
            try folder.link("..data", to: "..1")
            try folder.link("f.yaml", to: "..data/f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                for number in 2...10 {
                    try folder.makeFolder("..\(number)")
                    try folder.write("\(number)", to: "..\(number)/f.yaml")
                    try folder.link("..data", to: "..\(number)")
                    try FileManager.default.removeItem(atPath: folder.path("..\(number - 1)"))
                    var seen = await reports.next()
                    // The folder's removal may be seen as a change of its own.
                    while seen == ["unchanged"] { seen = await reports.next() }
                    #expect(seen == ["applied \(number)"])
                }
            }
        }
    }

    @Test("A link in the path that leads to another folder is followed")
    func releaseLink() async throws {
        try await withFolder { folder in
            for number in 1...2 {
                try folder.makeFolder("releases/\(number)/conf")
                try folder.write("\(number)", to: "releases/\(number)/conf/f.yaml")
            }
            try folder.link("current", to: "releases/1")
            try await withWatcher(folder.path("current/conf/f.yaml")) { _ in
                try folder.link("current", to: "releases/2")
                #expect(await reports.next() == ["applied 2"])
                // And what it led to before counts no more.
                try folder.replace("releases/1/conf/f.yaml", with: "nobody")
                try folder.replace("releases/2/conf/f.yaml", with: "3")
                #expect(await reports.next() == ["applied 3"])
            }
        }
    }

    @Test("A folder that is removed and created again is watched again")
    func folderAgain() async throws {
        try await withFolder { folder in
            try folder.makeFolder("a/b")
            try folder.write("1", to: "a/b/f.yaml")
            try await withWatcher(folder.path("a/b/f.yaml")) { _ in
                try FileManager.default.removeItem(atPath: folder.path("a"))
                var seen = await reports.next()
                #expect(seen.allSatisfy { $0.contains("No such file") }, "\(seen)")
                try folder.makeFolder("a/b")
                try folder.write("2", to: "a/b/f.yaml")
                repeat { seen = await reports.next() } while seen != ["applied 2"]
                try folder.replace("a/b/f.yaml", with: "3")
                repeat { seen = await reports.next() } while seen == ["recovered"]
                #expect(seen == ["applied 3"])
            }
        }
    }

    @Test("A folder in the file's place is reported, and the returning file is applied")
    func folderInPlace() async throws {
        try await withFolder { folder in
            try folder.write("1", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                try FileManager.default.removeItem(atPath: folder.path("f.yaml"))
                try folder.makeFolder("f.yaml")
                var seen: [String] = []
                repeat { seen = await reports.next() } while try !#require(seen.first).hasPrefix("warning")
                #expect(seen[0].contains("Is a directory"), "\(seen)")
                try FileManager.default.removeItem(atPath: folder.path("f.yaml"))
                try folder.replace("f.yaml", with: "2")
                repeat { seen = await reports.next() } while try #require(seen.first).hasPrefix("failed")
                #expect(seen == ["applied 2"])
                #expect(await reports.next() == ["recovered"])
            }
        }
    }

    @Test("Removed permissions are reported, and restored ones are noticed", .enabled(if: getuid() != 0))
    func rights() async throws {
        try await withFolder { folder in
            try folder.write("1", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                chmod(folder.path("f.yaml"), 0)
                let seen = await reports.next(2)
                #expect(seen.allSatisfy { $0.contains("Permission denied") }, "\(seen)")
                chmod(folder.path("f.yaml"), 0o644)
                #expect(await reports.next(2) == ["unchanged", "recovered"])
            }
        }
    }

    @Test("Changed permissions do not delay a file that was moved into place")
    func movedAndChanged() async throws {
        try await withFolder { folder in
            try folder.write("0", to: "f.yaml")
            try await withWatcher(folder.path("f.yaml")) { _ in
                let start = ContinuousClock.now
                for number in 1...10 {
                    try folder.replace("f.yaml", with: "\(number)")
                    chmod(folder.path("f.yaml"), number.isMultiple(of: 2) ? 0o644 : 0o600)
                    var seen = await reports.next()
                    // New permissions are seen as a change of their own.
                    while seen == ["unchanged"] { seen = await reports.next() }
                    #expect(seen == ["applied \(number)"])
                }
                // Each would wait for a second.
                #expect(start.duration(to: .now) < .seconds(8))
            }
        }
    }

    @Test("Changes of other files, or of the same name elsewhere, are ignored")
    func neighbours() async throws {
        try await withFolder { folder in
            try folder.write("1", to: "f.yaml")
            try folder.makeFolder("other")
            try await withWatcher(folder.path("f.yaml")) { _ in
                for number in 0..<50 { try folder.replace("g.yaml", with: "\(number)") }
                try folder.write("elsewhere", to: "other/f.yaml")
                try folder.replace("f.yaml", with: "2")
                // The first report is about the file itself.
                #expect(await reports.next() == ["applied 2"])
            }
        }
    }

    /// In a process of its own, where nobody else opens or starts anything.
    @Test("Watching a hundred files in turn leaks no descriptor and no thread")
    func leaks() async throws {
        await #expect(processExitsWith: .success) {
            func watchOnce(_ folder: TemporaryFolder, _ number: Int) async throws {
                let path = folder.path("f.yaml")
                let reports = ReportList()
                let watcher = ConfigurationWatcher<String>(
                    LocalFile(path),
                    reading: try LocalFile(path).read(),
                    prepare: { bytes in ConfigurationWatcher.Prepared { String(decoding: bytes, as: UTF8.self) } },
                    report: { reports.note($0) }
                )
                watcher.start()
                _ = try await watcher.renew()
                try folder.replace("f.yaml", with: "\(number)")
                while await reports.next() != ["applied \(number)"] {}
                await watcher.end()
            }
            let folder = try TemporaryFolder()
            try folder.write("first", to: "f.yaml")
            // What the process opens once and keeps is open by then, such as the runtime's timers of both clocks.
            try await Task.sleep(for: .nanoseconds(1), clock: .continuous)
            try await Task.sleep(for: .nanoseconds(1), clock: .suspending)
            for number in 0..<3 { try await watchOnce(folder, number) }
            let before = try ProcessState.now()
            for number in 3..<103 { try await watchOnce(folder, number) }
            let after = try ProcessState.now()
            // Threads of the system's pools come and go; a thread for each watch would be a hundred.
            guard after.descriptors == before.descriptors, after.threads.count < before.threads.count + 50 else {
                print("before \(before), after \(after)")
                exit(3)
            }
        }
    }
}
