// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Glibc
import ServerRig
import Testing

@testable import HTTPDNS
@testable import HTTPDNSCore

/// A process that is forked has the same open files until it runs its program. A duplicate descriptor has the same effect.
struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Returns a duplicate of this process's descriptor of an open file.
    private func duplicate(ofDescriptorOf path: String) throws -> Int32 {
        let wanted = try #require(realpath(path, nil).map { String(cString: $0) })
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                target == wanted, let number = Int32(name)
            else { continue }
            return dup(number)
        }
        throw FileFault(path, "it is not open")
    }

    private func continuedFile() throws -> ReplacedFile {
        try ReplacedFile(folder.path("a"), continuesPart: true)
    }

    @Test("A part is free once its download has ended, also beside a fork", arguments: ["discard", "finish", "deinit"])
    func part(end: String) throws {
        var file: ReplacedFile? = try continuedFile()
        file?.keep()
        let other = try duplicate(ofDescriptorOf: ReplacedFile.name(beside: folder.path("a"), "part"))
        defer { close(other) }
        #expect(throws: FileFault.self) { try continuedFile() }
        switch end {
        case "discard": file?.discard()
        case "finish": try file?.finish()
        default: file = nil
        }
        #expect(throws: Never.self) { try continuedFile() }
        withExtendedLifetime(file) {}
    }

    @Test("A file is not read while another process writes it in place")
    func readers() throws {
        let path = try folder.write("# httpdns-cookies 1\n", to: "a")
        chmod(path, 0o600)
        let readers: [@Sendable () throws -> Void] = [
            { _ = try ReadableFile.contents(of: path, waiting: .zero) },
            { _ = try CookieFile(path, .init()).read(waiting: .zero) },
            { _ = try SnapshotFile(path: path).contents(maximumBytes: 100, waiting: .zero) },
        ]
        let other = open(path, O_WRONLY)
        defer { close(other) }
        try #require(flock(other, LOCK_EX) == 0)
        for read in readers {
            let error = #expect(throws: (any Error).self) { try read() }
            #expect(error.map { "\($0)".contains("another process is writing it") } == true)
        }
        flock(other, LOCK_UN)
        for read in readers { try read() }
        // No reader keeps its lock.
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    }

    @Test("A folder is free once its owner is released, also beside a fork")
    func ownedFolder() throws {
        var owned: OwnedFolder? = try OwnedFolder(folder.path("f"), of: "cache")
        let other = try duplicate(ofDescriptorOf: folder.path("f"))
        defer { close(other) }
        #expect(throws: FileFault.self) { try OwnedFolder(folder.path("f"), of: "cache") }
        withExtendedLifetime(owned) {}
        owned = nil
        #expect(throws: Never.self) { try OwnedFolder(folder.path("f"), of: "cache") }
    }
}
