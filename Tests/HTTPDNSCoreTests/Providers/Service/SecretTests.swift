// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCore
import HTTPDNSVendors
import ServerRig
import Testing

struct SecretTests {
    private static let canary = "canary-2718"
    private struct Leaky: Error, CustomStringConvertible { let description = canary }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ octets: [UInt8]) throws -> String {
        let path = folder.path("\(UUID())")
        try Data(octets).write(to: URL(fileURLWithPath: path))
        try setMode(0o600, path)
        return path
    }

    private func setMode(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test("A file is read at each use, without line ends at its end")
    func rotates() throws {
        let path = try file(Array("\(Self.canary)\r\n\n".utf8))
        let secret = HTTPDNSSecret.file(path)
        #expect(try secret.read() == Self.canary)
        try Data("next".utf8).write(to: URL(fileURLWithPath: path))
        try setMode(0o640, path)
        #expect(try secret.read() == "next")
    }

    @Test(
        "A file that others may read or write is refused, with its mode and advice",
        arguments: [
            (0o600, true), (0o400, true), (0o640, true), (0o440, true), (0o644, false), (0o660, false), (0o602, false),
        ]
    )
    func mode(mode: Int, isTaken: Bool) throws {
        let path = try file(Array(Self.canary.utf8))
        try setMode(mode, path)
        guard !isTaken else {
            #expect(try HTTPDNSSecret.file(path).read() == Self.canary)
            return
        }
        let error = #expect(throws: SecretError.self) { try HTTPDNSSecret.file(path).read() }
        #expect(error?.description.contains("its mode is \(String(mode, radix: 8))") == true)
        #expect(error?.description.contains("chmod 600") == true)
    }

    @Test("A file system that hangs delays neither other tasks nor other secrets")
    func hangs() async throws {
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let secret = HTTPDNSSecret.file(path)
        // More than there are threads for tasks.
        let waiting = (0..<64).map { _ in Task.detached { try await secret.current() } }
        let other = try file(Array(Self.canary.utf8))
        #expect(try await HTTPDNSSecret.file(other).current() == Self.canary)
        waiting[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiting[0].value }
        // A writer lets the reading end.
        var writer: Int32 = -1
        while writer < 0 {
            await Task.yield()
            writer = open(path, O_WRONLY | O_NONBLOCK)
        }
        _ = Array(Self.canary.utf8).withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
        close(writer)
        for task in waiting.dropFirst() { #expect(try await task.value == Self.canary) }
    }

    @Test("A secret is waited for until the caller's deadline")
    func deadline() async throws {
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let deadline = SystemTimeSource().now() + .milliseconds(50)
        let error = await #expect(throws: SecretError.self) {
            try await HTTPDNSSecret.file(path).current(until: deadline)
        }
        #expect(error?.isOverdue == true && SystemTimeSource().now() >= deadline)
    }

    /// Of secrets of one path, too.
    @Test("A secret that was read stays in use while its file system hangs")
    func staysInUse() async throws {
        let path = try file(Array(Self.canary.utf8))
        let (secret, other) = (HTTPDNSSecret.file(path), HTTPDNSSecret.file(path))
        #expect(try await secret.current() == Self.canary)
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        for secret in [secret, other, secret] { #expect(try await secret.current() == Self.canary) }
        // A writer lets the read end. Its text is the next secret.
        var writer: Int32 = -1
        while writer < 0 {
            await Task.yield()
            writer = open(path, O_WRONLY | O_NONBLOCK)
        }
        _ = Array("next".utf8).withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
        close(writer)
        var text = Self.canary
        while text == Self.canary, !Task.isCancelled {
            try FileManager.default.removeItem(atPath: path)
            try Data("next".utf8).write(to: URL(fileURLWithPath: path))
            try setMode(0o600, path)
            text = try await secret.current()
        }
        #expect(text == "next")
    }

    /// Without a deadline the caller waits for a second.
    @Test("A secret that was read is there at the caller's deadline while its file hangs")
    func staysInUseInTime() async throws {
        // On a busy machine a wait may take longer than the second, and not each of several.
        var shortest = Duration.seconds(3600)
        for _ in 0..<10 where shortest >= .milliseconds(900) {
            let path = try file(Array(Self.canary.utf8))
            let secret = HTTPDNSSecret.file(path)
            #expect(try await secret.current() == Self.canary)
            try FileManager.default.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
            let start = SystemTimeSource().now()
            #expect(try await secret.current(until: start + .milliseconds(50)) == Self.canary)
            shortest = min(shortest, SystemTimeSource().now() - start)
        }
        #expect(shortest >= .milliseconds(50) && shortest < .milliseconds(900), "\(shortest)")
    }

    @Test("An environment variable and a closure give their secrets")
    func others() throws {
        setenv("HTTPDNS_SECRET_TEST", Self.canary, 1)
        #expect(try HTTPDNSSecret.environment("HTTPDNS_SECRET_TEST").read() == Self.canary)
        #expect(try HTTPDNSSecret { Self.canary }.read() == Self.canary)
    }

    @Test("An unreadable secret is reported with its source and the reason only")
    func unreadable() throws {
        let empty = try file(Array("\n".utf8))
        let binary = try file(Array(Self.canary.utf8) + [0xff])
        let long = try file([UInt8](repeating: 0x61, count: 4097))
        let cases: [(HTTPDNSSecret, String)] = [
            (.file("/nowhere/secret"), "in the file /nowhere/secret cannot be read: No such file"),
            (.file("/"), "Is a directory"), (.file(empty), "is empty"), (.file(binary), "not UTF-8"),
            (.file(long), "more than 4096"),
            (.environment("HTTPDNS_NOT_SET"), "HTTPDNS_NOT_SET cannot be read: it is not"),
            (HTTPDNSSecret { throw Leaky() }, "the closure threw an error"), (HTTPDNSSecret { "" }, "is empty"),
        ]
        for (secret, reason) in cases {
            let error = #expect(throws: SecretError.self) { try secret.read() }
            #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
            #expect(error?.description.contains(Self.canary) == false)
        }
    }

    @Test("No text form of a secret contains the secret")
    func redacted() {
        let secret = HTTPDNSSecret { Self.canary }
        var dumped = ""
        dump(secret, to: &dumped)
        dump(HTTPDNSJSONProvider.Service.alidns(account: "a", accessKey: "b", secret: secret), to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])", "\(Optional(secret) as Any)"] {
            #expect(!text.contains(Self.canary), "\(text)")
        }
        #expect("\(secret)" == "a secret from a closure")
    }
}
