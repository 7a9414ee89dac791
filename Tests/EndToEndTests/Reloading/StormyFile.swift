// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import Foundation
import ServerRig
import Testing

/// A configuration file and everything that is done to it. It maps one name.
struct StormyFile: Sendable {
    /// An address that a half of a file leads to, and no whole one does.
    static let forbidden = "127.0.0.5"

    enum Change: CaseIterable, Sendable {
        /// A whole file is moved over it.
        case move
        /// It is written in place in two halves.
        case halves
        /// It is behind a link that is swapped.
        case link
        /// It is taken away, and given back.
        case absence
        /// The disk is full while it is written in place.
        case fullDisk
    }

    let folder: TemporaryFolder
    let name: String
    let authorities: String
    /// Whether the folder is a disk of its own that may be filled.
    let isDisk: Bool

    var path: String { folder.path("httpdns.yaml") }

    /// - Parameter width: At which byte the address begins, if the text before is shorter.
    func text(_ address: String, width: Int = 0) -> String {
        let mapping = "mappings:\n  \(name): "
        let padding = String(repeating: "#", count: max(0, width - "version: 1\n\n".utf8.count - mapping.utf8.count))
        return "version: 1\n\(padding)\n\(mapping)\(address)\nclient: { ca_file: \(authorities) }\n"
    }

    func move(_ text: String) throws { try folder.replace("httpdns.yaml", with: text) }

    /// Writes in place, with a pause in the middle in which the file leads to an address that no whole file has. The pause is
    /// no wait for something to happen, but for nothing: it is longer than a closed file has to rest, and shorter than one that
    /// has changed without an event. It is on a thread of its own, since other tests keep those of tasks for seconds.
    func writeHalves(_ address: String) async throws {
        let half = "version: 1\nmappings:\n  \(name): \(Self.forbidden)\n"
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        // A child process that inherits it would close it later.
                        let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
                        try #require(descriptor >= 0)
                        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                        try handle.write(contentsOf: Data(half.utf8))
                        Thread.sleep(forTimeInterval: 0.3)
                        try handle.truncate(atOffset: 0)
                        try handle.write(contentsOf: Data(text(address).utf8))
                        try handle.close()
                    }
                )
            }
        }
    }

    /// As Kubernetes does: another folder, the link to it swapped, and the folder before removed.
    func swapLink(_ address: String, _ number: Int) throws {
        let next = "..\(number)"
        let last = try? FileManager.default.destinationOfSymbolicLink(atPath: folder.path("..data"))
        try folder.makeFolder(next)
        try folder.write(text(address), to: "\(next)/httpdns.yaml")
        try folder.link("..data", to: next)
        try folder.link("httpdns.yaml", to: "..data/httpdns.yaml")
        if let last { try FileManager.default.removeItem(atPath: folder.path(last)) }
    }

    /// Takes the file away in a way that root cannot pass over either, and gives it back when that was told.
    func takeAway(_ address: String, until isTold: () async -> Void) async throws {
        if getuid() != 0 {
            chmod(path, 0)
            await isTold()
        } else {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            await isTold()
            try FileManager.default.removeItem(atPath: path)
        }
        try move(text(address))
    }

    /// Writes in place on a full disk, which leaves the beginning of a text, cut off in its address; when that was told there
    /// is space again. Where the folder is no disk of its own the space is only said to be gone (`/dev/full`).
    func runOutOfDisk(_ address: String, until isTold: () async -> Void) async throws {
        let page = Int(getpagesize())
        let filler = folder.path("filler")
        let device = isDisk ? filler : "/dev/full"
        let full = open(device, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(full >= 0)
        let zeros = [UInt8](repeating: 0, count: page)
        while write(full, zeros, zeros.count) > 0 {}
        try #require(errno == ENOSPC)
        close(full)
        // The file was one page long, and would be two: its address begins six bytes before the second one.
        let long = Array(text(address, width: page - 6).utf8)
        let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        try #require(descriptor >= 0)
        try #require(write(descriptor, long, isDisk ? long.count : page) == page)
        if isDisk { try #require(write(descriptor, zeros, 1) == -1 && errno == ENOSPC) }
        close(descriptor)
        await isTold()
        if isDisk { try FileManager.default.removeItem(atPath: filler) }
        try move(text(address))
    }
}

/// A small disk of its own, for root.
enum SmallDisk {
    /// - Returns: Whether there is one now; not everybody may mount, root in a container neither.
    static func mount(at folder: String) -> Bool {
        Glibc.mount("none", folder, "tmpfs", 0, "size=64k") == 0
    }

    static func unmount(_ folder: String) { umount2(folder, CInt(MNT_DETACH)) }
}
#endif
