// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

@testable import HTTPDNSCore

struct DiskSnapshotTests {
    private let folder: TemporaryFolder
    private let store: HTTPDNSDiskStore

    init() throws {
        folder = try TemporaryFolder()
        store = HTTPDNSDiskStore(path: folder.file)
    }

    @Test("A saved answer is loaded, by another value too, newest first")
    func roundTrip() async throws {
        let resolutions = try HTTPDNSStoredResolution.variety()
        try await store.save(resolutions.reversed())
        #expect(try await store.load() == resolutions)
        #expect(try await HTTPDNSDiskStore(path: folder.file).load() == resolutions)
        try await store.save([])
        #expect(try await store.load() == [])
    }

    @Test("A missing file or folder is no error before the first save")
    func nothingThere() async throws {
        #expect(try await store.load() == [])
        #expect(try await HTTPDNSDiskStore(path: "\(folder.path)/none/answers.snapshot").load() == [])
        #expect(try folder.names == [])
    }

    /// Nothing else is left in the folder.
    @Test("Only the owner can read or write the file, whatever the umask")
    func mode() async throws {
        try folder.write(try await savedOctets())
        chmod(folder.file, 0o644)
        try await store.save([try .sample()])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try folder.names == ["answers.snapshot"])
        await #expect(processExitsWith: .success) { [path = folder.file as String] in
            umask(0o777)
            try await HTTPDNSDiskStore(path: path).save([])
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o7777 == 0o600 else { exit(3) }
        }
    }

    @Test("A path in the working directory is accepted")
    func relative() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            guard chdir(path) == 0 else { exit(3) }
            let answers = [try HTTPDNSStoredResolution.sample()]
            try await HTTPDNSDiskStore(path: "plain").save(answers)
            guard try await HTTPDNSDiskStore(path: "./plain").load() == answers else { exit(4) }
        }
        #expect(try folder.names == ["plain"])
    }

    @Test("Of more answers than the limits allow those received last are kept")
    func limits() async throws {
        let all = try (0..<1000).map { try HTTPDNSStoredResolution.sample("host\($0).test", receivedAt: Int64($0)) }
        let newestFirst = Array(all.reversed())
        let few = HTTPDNSDiskStore(path: folder.file, maximumEntries: 3)
        try await few.save(all)
        #expect(try await few.load() == Array(newestFirst.prefix(3)))
        // The reader's limit holds for what a process with a higher one has written.
        try await store.save(all)
        #expect(try await few.load() == Array(newestFirst.prefix(3)))

        let small = HTTPDNSDiskStore(path: folder.file, maximumBytes: .bytes(1))
        try await small.save(all)
        let size = try folder.contents.count
        #expect((65_536 - 100...65_536).contains(size), "64 KiB is the least limit")
        let kept = try await small.load()
        #expect(kept == Array(newestFirst.prefix(kept.count)) && kept.count > 500)
    }

    /// It is cut off, altered, or written by another version.
    @Test("A damaged or newer snapshot is refused with its path, and then replaced")
    func damaged() async throws {
        let good = try await savedOctets()
        var flipped = good
        flipped[good.count / 2] ^= 0x10
        var newer = good
        newer[11] = 99
        let cases: [(contents: [UInt8], code: HTTPDNSResolutionStoreError.Code, words: String)] = [
            (good.dropLast(), .corrupt, "bytes belong behind the header"), ([], .corrupt, "the header is cut off"),
            (flipped, .corrupt, "checksum"), (newer, .unsupportedVersion, "version 99"),
            ([UInt8](repeating: 0, count: good.count), .corrupt, "something else than a snapshot"),
        ]
        for (contents, code, words) in cases {
            try folder.write(contents)
            let error = await #expect(throws: HTTPDNSResolutionStoreError.self) { try await store.load() }
            #expect(error?.code == code)
            #expect(error?.path == folder.file)
            #expect(error?.message.hasPrefix("the snapshot \"\(folder.file)\" is not used: ") == true)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            try await store.save([try .sample()])
            #expect(try await store.load() == [try .sample()])
        }
    }

    @Test("A file that is no snapshot is neither used nor replaced")
    func foreign() async throws {
        let text = Array("127.0.0.1 localhost\n".utf8)
        try folder.write(text)
        await expect(.corrupt, "something else than a snapshot") { try await store.load() }
        await expect(.notWritable, "a file that is no snapshot") { try await store.save([try .sample()]) }
        #expect(try folder.contents == text)
    }

    @Test("A file above the byte limit is refused without being read, and replaced")
    func tooLarge() async throws {
        try folder.write(SnapshotFormat.magic)
        // No disk has to hold it, and no memory could: 10 GB of holes.
        #expect(truncate(folder.file, 10_000_000_000) == 0)
        await expect(.tooLarge, "10000000000 bytes") { try await store.load() }
        try await store.save([])
        #expect(try await store.load() == [])
    }

    @Test("Anything but a regular file is neither read nor replaced, and blocks nothing")
    func notRegular() async throws {
        let fifo = "\(folder.path)/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [folder.path, fifo] {
            let store = HTTPDNSDiskStore(path: path)
            await expect(.notReadable, "no regular file") { try await store.load() }
            await expect(.notWritable, "no regular file") { try await store.save([]) }
        }
        #expect(try folder.names == ["fifo"])
        // Read only: a mistake here must not cost the machine its device.
        await expect(.notReadable, "no regular file") { try await HTTPDNSDiskStore(path: "/dev/zero").load() }
    }

    @Test("A symbolic link is neither followed nor replaced")
    func symbolicLink() async throws {
        try folder.write(try await savedOctets(), to: "real")
        try FileManager.default.removeItem(atPath: folder.file)
        #expect(symlink("\(folder.path)/real", folder.file) == 0)
        await expect(.unsafePermissions, "symbolic link") { try await store.load() }
        await expect(.notWritable, "symbolic link") { try await store.save([]) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file) == "\(folder.path)/real")
    }

    @Test("A file that others may write is refused, and the next save secures it", arguments: [0o620, 0o602, 0o666])
    func writableByOthers(mode: Int) async throws {
        try folder.write(try await savedOctets())
        #expect(chmod(folder.file, mode_t(mode)) == 0)
        await expect(.unsafePermissions, "mode \(String(mode, radix: 8))") { try await store.load() }
        try await store.save([])
        #expect(try await store.load() == [])
    }

    @Test("A file of another user is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
    func otherOwner() async throws {
        try folder.write(try await savedOctets())
        #expect(chown(folder.file, 65_534, 65_534) == 0)
        await expect(.unsafePermissions, "belongs to user 65534") { try await store.load() }
        let contents = try folder.contents
        await expect(.notWritable, "belongs to user 65534, and this process runs as user 0") {
            try await store.save([try .sample()])
        }
        #expect(try folder.contents == contents && folder.names == ["answers.snapshot"])
    }

    @Test("A snapshot of another user is never replaced, and its file stays as it is")
    func replacedByAnother() async throws {
        try folder.write(try await savedOctets())
        func facts() throws -> [Int] {
            var status = stat()
            try #require(stat(folder.file, &status) == 0)
            return [Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec, Int(status.st_uid)]
        }
        let (contents, before) = (try folder.contents, try facts())
        let other = HTTPDNSDiskStore(
            path: folder.file,
            user: geteuid() + 1,
            maximumBytes: 65_536,
            maximumEntries: 10,
            wallClock: .system,
            work: SerialWork()
        )
        await expect(.unsafePermissions, "belongs to user \(geteuid())") { try await other.load() }
        await expect(.notWritable, "belongs to user \(geteuid())") { try await other.save([]) }
        #expect(try folder.contents == contents && facts() == before && folder.names == ["answers.snapshot"])
    }

    @Test(
        "A path that cannot be a file is refused with the reason",
        arguments: [
            ("", "the path is empty"), ("answers\0.snapshot", "holds a NUL"), ("/tmp/", "the path of a folder"),
            ("..", "the path of a folder"), ("/etc/passwd/answers", "a part of the path is a file"),
        ]
    )
    func badPaths(path: String, words: String) async {
        let store = HTTPDNSDiskStore(path: path)
        await expect(.notReadable, words) { try await store.load() }
        await expect(.notWritable, words) { try await store.save([]) }
    }

    @Test("A missing folder is an error that advises to create it")
    func noFolder() async {
        let store = HTTPDNSDiskStore(path: "\(folder.path)/none/answers.snapshot")
        await expect(.notWritable, "No such file or directory; create the folder") { try await store.save([]) }
    }

    private func expect(
        _ code: HTTPDNSResolutionStoreError.Code,
        _ words: String,
        at location: Testing.SourceLocation = #_sourceLocation,
        _ body: () async throws -> some Any
    ) async {
        let error = await #expect(throws: HTTPDNSResolutionStoreError.self, sourceLocation: location) {
            _ = try await body()
        }
        #expect(error?.code == code, sourceLocation: location)
        let message = error?.message ?? ""
        #expect(message.contains(words), sourceLocation: location)
        #expect(!message.utf8.contains { $0 < 0x20 }, "one line", sourceLocation: location)
    }

    private func savedOctets() async throws -> [UInt8] {
        try await store.save(try HTTPDNSStoredResolution.variety())
        return try folder.contents
    }
}
