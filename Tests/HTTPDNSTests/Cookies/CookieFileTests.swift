// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// The file of a jar.
struct CookieFileTests {
    private let folder: TemporaryFolder
    private let clock = HTTPDNSManualClock()
    private var path: String { folder.path("jar") }
    private static let start: Int64 = 1_700_000_000_000

    init() throws { folder = try TemporaryFolder() }

    /// A jar on the file, as a client makes it.
    private func opened(later seconds: Int64 = 0) async throws -> HTTPDNSClient.CookieJar {
        let jar = HTTPDNSClient.CookieJar(
            limits: .init(),
            file: path,
            suffixes: PublicSuffixes(source: "test") { !$0.contains(".") },
            wallClock: WallClock { Self.start + seconds * 1000 },
            time: clock
        )
        try await jar.load()
        return jar
    }

    private func mode() throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("Persistent cookies survive a restart with all they have, session cookies do not")
    func restart() async throws {
        let jar = try await opened()
        let fields = [
            "plain=v; Max-Age=100", "session=v", "=no name; Max-Age=100", "odd=\t a%b;Path=/ä; Max-Age=100",
            "__Host-all=v; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=100",
            "wide=v; Domain=one.test; SameSite=Lax; Max-Age=100", "short=v; Max-Age=5",
        ]
        for field in fields { #expect(try jar.store(field, from: "https://www.one.test/x/y") == nil) }
        jar.store([0x62, 0x3d, 0xff] + "; Max-Age=100".utf8, from: try url("https://[::1]/"))
        try await jar.save()
        #expect(jar.status.isSaved)
        let later = try await opened(later: 10)
        let expected = jar.cookies.filter { $0.expiry != nil && $0.name != "short" }
        #expect(later.cookies.map(\.stored.withoutOrder) == expected.map(\.stored.withoutOrder))
        #expect(later.cookies.count == 6 && later.status.damage.isEmpty)
    }

    /// The threads of a file system that hangs.
    @Test("Reading and writing a file that does not answer end after a while")
    func hangs() async throws {
        let jar = HTTPDNSClient.CookieJar(
            limits: .init(),
            file: path,
            wallClock: WallClock { Self.start },
            time: clock,
            work: SerialWork(startThread: { _ in true }),
            patience: .milliseconds(20)
        )
        let unread = await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await jar.load() }
        #expect(unread?.code == .unreadable && unread?.reason.contains("did not answer in time") == true)
        try jar.store("n=v; Max-Age=100", from: "https://one.test")
        await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await jar.save() }
        #expect(jar.cookies.count == 1)
    }

    @Test("The file is for its owner alone, also when it replaces another")
    func permissions() async throws {
        let jar = try await opened()
        try jar.store("n=v; Max-Age=100", from: "https://one.test")
        try await jar.save()
        #expect(try mode() == 0o600)
        for mode in [0o644, 0o660] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let error = await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await opened() }
            #expect(error?.code == .unreadable && error?.reason.contains("chmod 600") == true)
        }
        try jar.store("m=v; Max-Age=100", from: "https://one.test")
        try await jar.save()
        #expect(try mode() == 0o600)
    }

    @Test("A jar without a persistent change neither makes nor changes the file")
    func readOnly() async throws {
        let jar = try await opened()
        try jar.store("n=v", from: "https://one.test")
        _ = try jar.cookies(for: "https://one.test")
        try await jar.save()
        #expect(try folder.names == [])
        try folder.write("# httpdns-cookies 1\nnonsense\n", to: "jar")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let damaged = try await opened()
        try await damaged.save()
        #expect(folder.read("jar") == "# httpdns-cookies 1\nnonsense\n")
    }

    @Test("A change is written a second later, and several changes once")
    func delayed() async throws {
        let jar = try await opened()
        try jar.store("n=v; Max-Age=100", from: "https://one.test")
        try jar.store("m=v; Max-Age=100", from: "https://one.test")
        await clock.sleepers(atLeast: 1)
        #expect(clock.sleeperCount == 1 && folder.read("jar") == nil)
        clock.advance(by: .seconds(1))
        let end = ContinuousClock.now + .seconds(120)
        while !jar.status.isSaved, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        #expect(folder.read("jar")?.split(separator: "\n").count == 3)
    }

    @Test("A damaged line costs its cookie alone, and is reported with its number")
    func damage() async throws {
        let jar = try await opened()
        for name in ["a", "b", "c"] { try jar.store("\(name)=canary; Max-Age=100", from: "https://one.test") }
        try await jar.save()
        let lines = try #require(folder.read("jar")).split(separator: "\n").map(String.init)
        let broken = [
            String(lines[2].dropLast(3)), lines[2].replacing("\thost\t", with: "\tall\t"),
            lines[2].replacing("one.test", with: "One.Test"), lines[2].replacing("canary", with: "can%0aary"),
            lines[2].replacing("canary", with: "can%zzary"), lines[2].replacing("\t/\t", with: "\t/%+1\t"),
            "\(lines[2])\tmore\t.",
            lines[2].replacing("\t/\t", with: "\tx\t"),
            lines[2].replacing("\t/\t", with: "\t/\(String(repeating: "x", count: 1024))\t"),
        ]
        for line in broken {
            try folder.write([lines[0], lines[1], line, lines[3]].joined(separator: "\n") + "\n", to: "jar")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let read = try await opened()
            #expect(read.cookies.map(\.name) == ["a", "c"], "\(line)")
            #expect(read.status.damage.map(\.line) == [3] && read.status.damage.map(\.code) == [.damaged])
            #expect(!"\(read.status.damage)".contains("canary"))
        }
    }

    @Test(
        "A file with other content is refused and never replaced",
        arguments: [
            ("127.0.0.1 localhost\n", .foreign), ("# httpdns-cookies 2\n", .unsupportedVersion), ("\n", .foreign),
        ] as [(String, HTTPDNSClient.CookieJar.FileError.Code)]
    )
    func foreign(text: String, code: HTTPDNSClient.CookieJar.FileError.Code) async throws {
        try folder.write(text, to: "jar")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let error = await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await opened() }
        #expect(error?.code == code && error?.line == 1 && error?.path == path)
        // A jar that has not read its file must not write it either.
        let jar = HTTPDNSClient.CookieJar(limits: .init(), file: path, time: clock)
        try jar.store("n=v; Max-Age=100", from: "https://one.test")
        await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await jar.save() }
        #expect(folder.read("jar") == text)
        var configuration = HTTPDNSClient.Configuration()
        configuration.cookies = .file(path)
        let refused = await clientError { try await HTTPDNSClient(configuration: configuration) }
        #expect(refused?.code == .configuration && refused?.underlying is HTTPDNSClient.CookieJar.FileError)
    }

    /// The slash at the start of the path and the name have one byte each in place of three.
    @Test("No line is longer than the limit that the size of the file is derived from")
    func longestLine() throws {
        let longest = StoredCookie(
            key: .init(
                name: [UInt8(ascii: "n")],
                domain: String(repeating: "d", count: 253),
                isHostOnly: false,
                path: [UInt8(ascii: "/")] + [UInt8](repeating: 0xff, count: 1023)
            ),
            value: [UInt8](repeating: 0xff, count: 4095),
            expiry: .min,
            isSecure: true,
            isHTTPOnly: true,
            sameSite: .unspecified,
            creation: .min,
            lastAccess: .min
        )
        let length = CookieFileFormat.text([longest]).count - CookieFileFormat.text([]).count
        #expect(length == CookieFileFormat.maximumLine - 4)
        for maximum in [1, 3000, 100_000] {
            let file = CookieFile(path, .init(maximumPerDomain: 1, maximum: maximum))
            #expect(file.maximumBytes >= CookieFileFormat.text([]).count + maximum * CookieFileFormat.maximumLine)
        }
    }

    @Test("A file larger than any of the jar's own is refused without being read")
    func tooLarge() async throws {
        try folder.write("", to: "jar")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: UInt64(CookieFile(path, .init()).maximumBytes) + 1)
        try handle.close()
        let error = await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await opened() }
        #expect(error?.code == .unreadable && error?.reason.contains("bytes") == true)
    }

    /// The folder is gone, as a disk without room would refuse the temporary file.
    @Test("A failed write loses neither the old file nor the cookies in the jar")
    func unwritable() async throws {
        let jar = try await opened()
        try jar.store("n=v; Max-Age=100", from: "https://one.test")
        try await jar.save()
        try FileManager.default.moveItem(atPath: folder.path, toPath: "\(folder.path)-away")
        try jar.store("m=v; Max-Age=100", from: "https://one.test")
        let error = await #expect(throws: HTTPDNSClient.CookieJar.FileError.self) { try await jar.save() }
        #expect(error?.code == .unwritable && jar.status.saveFailure == error && !jar.status.isSaved)
        try FileManager.default.moveItem(atPath: "\(folder.path)-away", toPath: folder.path)
        #expect(try await opened().cookies.map(\.name) == ["n"])
        try await jar.save()
        #expect(try await opened().cookies.map(\.name) == ["n", "m"] && jar.status.saveFailure == nil)
        #expect(try folder.names == ["jar"])
    }

    @Test("A client reads the file when it is made, and its shutdown writes it")
    func client() async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.cookies = .file(path)
        let client = try await HTTPDNSClient(configuration: configuration)
        try #require(client.cookieJar).store("n=v; Max-Age=100", from: "https://one.test")
        try await client.shutdown()
        let next = try await HTTPDNSClient(configuration: configuration)
        #expect(next.cookieJar?.cookies.map(\.name) == ["n"])
        try await next.shutdown()
    }

    private func url(_ text: String) throws -> CookieURL {
        CookieURL(try HTTPDNSRewriter.Canonicalizer.canonicalize(text).parsed)
    }
}

extension StoredCookie {
    /// The cookie as the file has it.
    fileprivate var withoutOrder: StoredCookie {
        var cookie = self
        cookie.order = 0
        return cookie
    }
}
