// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

/// No other file can get the name of a file that is a mount of its own (`EBUSY`).
@Suite("Files that are mounts of their own", .enabled(if: BindMount.isPossible, "only root may mount"))
struct MountedFileTests {
    private let folder: TemporaryFolder
    private let rig: Rig

    init() throws {
        folder = try TemporaryFolder()
        rig = try Rig(wire: ScriptedWire { request, _ in .ok(from: request, chunks: [Array("new".utf8)]) })
    }

    @Test(
        "A mounted file gets the complete bytes in place, also in a read-only folder",
        arguments: [false, true]
    )
    func inPlace(isFolderReadOnly: Bool) async throws {
        try folder.write("an old and longer text", to: "a")
        chmod(folder.path("a"), 0o640)
        let outer = try isFolderReadOnly ? BindMount(folder.path) : nil
        let mount = try BindMount(folder.path("a"))
        try outer?.makeReadOnly()
        defer {
            withExtendedLifetime(mount) {}
            withExtendedLifetime(outer) {}
        }
        let download = try await rig.client.download("https://one.test/", to: folder.path("a"))
        #expect(download.bytes == 3 && folder.read("a") == "new")
        #expect(try folder.names == ["a"])
        #expect(try rights(of: "a") == 0o640)
    }

    @Test("A mounted file that cannot be written is refused before the request")
    func readOnly() async throws {
        try folder.write("old", to: "a")
        let mount = try BindMount(folder.path("a"))
        try mount.makeReadOnly()
        defer { withExtendedLifetime(mount) {} }
        let error = await clientError { try await rig.client.download("https://one.test/", to: folder.path("a")) }
        #expect(error?.code == .fileFailed && error?.message.contains("Read-only file system") == true)
        #expect(error?.requestMayHaveBeenSent == false && rig.wire.requests.isEmpty)
        #expect(try folder.names == ["a"] && folder.read("a") == "old")
    }

    @Test("A body that breaks leaves the bytes of a mounted file")
    func broken() async throws {
        try folder.write("old", to: "a")
        let mount = try BindMount(folder.path("a"))
        defer { withExtendedLifetime(mount) {} }
        let failure = TransferFailure(code: .connectionLost, phase: .body, message: "broke")
        let broken = try Rig(
            wire: ScriptedWire { request, _ in .ok(from: request, chunks: [[1]], endingWith: failure) }
        )
        let error = await clientError { try await broken.client.download("https://one.test/", to: folder.path("a")) }
        #expect(error?.code == .connectionLost)
        #expect(try folder.names == ["a"] && folder.read("a") == "old")
    }

    @Test("A private file that is a mount is closed to others before it is written")
    func isPrivate() throws {
        try folder.write("old", to: "a")
        chmod(folder.path("a"), 0o666)
        let mount = try BindMount(folder.path("a"))
        defer { withExtendedLifetime(mount) {} }
        let file = try ReplacedFile(folder.path("a"), isPrivate: true)
        #expect(try rights(of: "a") == 0o600)
        try file.append(Array("secret".utf8))
        try file.finish()
        #expect(folder.read("a") == "secret")
    }

    @Test("The file of a cookie jar may be a mount of its own")
    func cookies() async throws {
        try folder.write("", to: "jar")
        chmod(folder.path("jar"), 0o600)
        let mount = try BindMount(folder.path("jar"))
        defer { withExtendedLifetime(mount) {} }
        let jar = try await HTTPDNSClient.CookieJar(file: folder.path("jar"))
        try jar.store("a=1; Max-Age=600", from: "https://one.test/")
        try await jar.save()
        #expect(folder.read("jar")?.contains("one.test") == true)
    }

    @Test("A file that this user may not replace is refused before the request")
    func sticky() async throws {
        try folder.write("old", to: "a")
        chmod(folder.path("a"), 0o666)
        chmod(folder.path, 0o1777)
        await #expect(processExitsWith: .success) { [path = folder.path("a") as String] in
            guard setuid(65_534) == 0 else { exit(3) }
            let fault = #expect(throws: FileFault.self) { try ReplacedFile(path) }
            #expect(fault?.reason.hasPrefix("this user may not replace it") == true)
        }
        #expect(try folder.names == ["a"] && folder.read("a") == "old")
    }

    /// A lock belongs to the open file, so that this process can stand for another one.
    @Test("A mounted file that another process reads or writes is not written meanwhile")
    func locked() throws {
        try folder.write("old", to: "a")
        let mount = try BindMount(folder.path("a"))
        defer { withExtendedLifetime(mount) {} }
        let other = open(folder.path("a"), O_RDONLY)
        defer { close(other) }
        try #require(flock(other, LOCK_SH) == 0)
        let refused = try ReplacedFile(folder.path("a"))
        try refused.append(Array("lost".utf8))
        let fault = #expect(throws: FileFault.self) { try refused.finish(waiting: .zero) }
        #expect(fault?.reason == "another process is reading or writing it")
        #expect(try folder.names == ["a"] && folder.read("a") == "old")
        flock(other, LOCK_UN)
        let file = try ReplacedFile(folder.path("a"))
        try file.append(Array("new".utf8))
        try file.finish(waiting: .zero)
        #expect(folder.read("a") == "new")
        // The file is still open.
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
        withExtendedLifetime(file) {}
    }

    private func rights(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
    }
}
