// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

@testable import HTTPDNSCore

/// What other processes, crashes and full disks do to a snapshot.
struct DiskSnapshotFailureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// As many answers about names of their own as make a file of several pages.
    private static func answers(_ count: Int, by provider: String) throws -> [HTTPDNSStoredResolution] {
        try (0..<count).map { index in
            var answer = try HTTPDNSStoredResolution.sample("host\(index).test", receivedAt: Int64(-index))
            answer.provider = provider
            return answer
        }
    }

    @Test("A folder without write permission is an error, and the saved file stays")
    func unwritableFolder() async throws {
        let store = HTTPDNSDiskStore(path: folder.file)
        try await store.save([])
        let before = try folder.contents
        #expect(chmod(folder.path, 0o555) == 0)
        await #expect(processExitsWith: .success) { [path = folder.file as String] in
            // Nothing is forbidden to root.
            if geteuid() == 0, chown(path, 65_534, 65_534) != 0 || setuid(65_534) != 0 { exit(3) }
            let store = HTTPDNSDiskStore(path: path)
            let error = await #expect(throws: HTTPDNSResolutionStoreError.self) {
                try await store.save([try .sample()])
            }
            #expect(error?.code == .notWritable)
            #expect(error?.message.contains("Permission denied; the process's user needs the right") == true)
            let left = try await store.load()
            #expect(left == [])
        }
        #expect(chmod(folder.path, 0o700) == 0)
        #expect(try folder.contents == before)
        #expect(try folder.names == ["answers.snapshot"])
    }

    @Test("A full disk is an error, the process lives, and the saved file stays")
    func fullDisk() async throws {
        try await HTTPDNSDiskStore(path: folder.file).save([try .sample()])
        let before = try folder.contents
        await #expect(processExitsWith: .success) { [path = folder.file as String] in
            // The one kind of "no room" that needs no file system of its own; by default it also sends a deadly SIGXFSZ.
            var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(3) }
            let store = HTTPDNSDiskStore(path: path)
            let many = try Self.answers(1000, by: "backup")
            let error = await #expect(throws: HTTPDNSResolutionStoreError.self) { try await store.save(many) }
            #expect(error?.code == .notWritable)
            #expect(error?.message.contains("cannot be written: File too large") == true, "\(error?.message ?? "")")
            let left = try await store.load()
            #expect(left == [try .sample()])
        }
        #expect(try folder.contents == before)
        #expect(try folder.names == ["answers.snapshot"])
    }

    @Test("A process killed while it saves leaves a whole file, old or new")
    func killed() async throws {
        let old = try Self.answers(2000, by: "old")
        let new = try Self.answers(3000, by: "new")
        let store = HTTPDNSDiskStore(path: folder.file)
        for saves in [0, 1, 3] {
            try await store.save(old)
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.file as String, saves = saves as Int] in
                let store = HTTPDNSDiskStore(path: path)
                let answers = try Self.answers(3000, by: "new")
                for _ in 0..<saves { try await store.save(answers) }
                async let last: Void = store.save(answers)
                kill(getpid(), SIGKILL)
                try await last
            }
            let found = try await store.load()
            #expect(found == new || (found == old && saves == 0))
        }
    }

    @Test(
        "A snapshot that is a mount of its own is saved in place",
        .enabled(if: BindMount.isPossible, "only root may mount")
    )
    func mounted() async throws {
        try folder.write([])
        let mount = try BindMount(folder.file)
        defer { withExtendedLifetime(mount) {} }
        let store = HTTPDNSDiskStore(path: folder.file)
        for answers in [try Self.answers(2000, by: "old"), [try .sample()]] {
            try await store.save(answers)
            #expect(try await store.load() == answers)
        }
        #expect(try folder.names == ["answers.snapshot"])
    }

    @Test("Old temporary files of crashed writers are removed, and nothing else is")
    func leftovers() async throws {
        let stem = ".httpdns-\(SHA256Hash.hexadecimal(of: "answers.snapshot").prefix(32))"
        let other = ".httpdns-\(SHA256Hash.hexadecimal(of: "other").prefix(32))"
        let old = "\(stem)-0123456789abcdef.part"
        let kept = [
            "\(stem)-0123456789abcde.part", "\(stem)-0123456789ABCDEF.part", "\(stem).part",
            "\(other)-0123456789abcdef.part", "\(stem)-0123456789abcdef.part.old",
        ]
        for name in [old] + kept { try folder.write([1, 2, 3], to: name) }
        let directory = "\(stem)-fedcba9876543210.part"
        #expect(mkdir("\(folder.path)/\(directory)", 0o700) == 0)
        let everything = try folder.names
        let now = WallClock.system.now()

        let soon = HTTPDNSDiskStore(path: folder.file, wallClock: WallClock { now + 300_000 })
        try await soon.save([])
        #expect(try folder.names == (everything + ["answers.snapshot"]).sorted())
        let later = HTTPDNSDiskStore(path: folder.file, wallClock: WallClock { now + 610_000 })
        try await later.save([])
        #expect(try folder.names == (kept + [directory, "answers.snapshot"]).sorted())
    }

    @Test("Two processes that save concurrently always leave one whole file")
    func twoWriters() async throws {
        let reader = HTTPDNSDiskStore(path: folder.file)
        let done = Journal<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [path = folder.file] in
                await #expect(processExitsWith: .success) { [path = path as String] in
                    try await Self.saveOften("one", path)
                }
                done.write("one")
            }
            group.addTask { [path = folder.file] in
                await #expect(processExitsWith: .success) { [path = path as String] in
                    try await Self.saveOften("two", path)
                }
                done.write("two")
            }
            let one = try Self.answers(500, by: "one")
            let two = try Self.answers(700, by: "two")
            while done.all.count < 2 {
                let found = try await reader.load()
                guard found == one || found == two || found.isEmpty else {
                    Issue.record("\(found.count) answers, by \(Set(found.map(\.provider)))")
                    break
                }
            }
            try await group.waitForAll()
        }
        #expect(try await reader.load().count >= 500)
        #expect(try folder.names == ["answers.snapshot"])
    }

    private static func saveOften(_ provider: String, _ path: String) async throws {
        let store = HTTPDNSDiskStore(path: path)
        let answers = try answers(provider == "one" ? 500 : 700, by: provider)
        for _ in 0..<40 { try await store.save(answers) }
    }
}
