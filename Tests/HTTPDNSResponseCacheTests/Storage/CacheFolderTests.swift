// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct CacheFolderTests {
    private static func body(_ number: Int, length: Int) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ number) }
    }

    private static func origin(length: Int) -> ScriptedWire {
        ScriptedWire { request, _ in
            let number = Int(request.url.target.dropFirst()) ?? 0
            let bytes = body(number, length: length)
            let chunks = stride(from: 0, to: bytes.count, by: 50_000).map {
                Array(bytes[$0..<min($0 + 50_000, bytes.count)])
            }
            return Scripted(chunks: chunks, ["cache-control": "max-age=60", "etag": "\"1\""]).answer(to: request)
        }
    }

    private func read(_ client: CachedClient, _ number: Int) async throws -> (HTTPDNSClient.CacheSource?, [UInt8]) {
        let response = try await client.client.get("http://one.test/\(number)")
        return (response.cacheSource, try await response.body.collect(upTo: .mebibytes(64)))
    }

    @Test(
        "A response of any length is the same after a restart",
        arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 700_000]
    )
    func restart(_ length: Int) async throws {
        let folder = try TemporaryFolder()
        let time = TestTime()
        for round in 0..<2 {
            let client = try await CachedClient(Self.origin(length: length), folder: folder.path("cache"), time: time)
            let (source, bytes) = try await read(client, 1)
            #expect(source == (round == 0 ? .miss : .hit))
            #expect(bytes == Self.body(1, length: length))
            if round == 1, length > 70_000 {
                let part = try await client.client.get(
                    "http://one.test/1",
                    headerFields: [.range: "bytes=65530-65545"]
                )
                #expect(part.status == .partialContent)
                #expect(try await part.body.collect(upTo: .mebibytes(1)) == Array(bytes[65530...65545]))
            }
        }
    }

    @Test("A validated head is kept across a restart")
    func update() async throws {
        let folder = try TemporaryFolder()
        let time = TestTime()
        let origin = ScriptedWire([
            Scripted("one", ["cache-control": "max-age=60", "etag": "\"1\""]),
            Scripted("", status: .notModified, ["cache-control": "max-age=600"]),
        ])
        do {
            let client = try await CachedClient(origin, folder: folder.path("cache"), time: time)
            _ = try await client.get()
            time.move(seconds: 61)
            #expect(try await client.get().source == .validated)
        }
        time.move(seconds: 500)
        let again = try await CachedClient(ScriptedWire([Scripted("new")]), folder: folder.path("cache"), time: time)
        #expect(texts([try await again.get()]) == ["hit one"])
    }

    /// Half of the files are cut, and half have one flipped bit. The short ones are read at once, the long ones in blocks. An
    /// open cache knows the heads and reads the bodies alone, so a flipped bit of a head does no harm.
    @Test(
        "A truncated or altered file is a miss and never wrong bytes",
        arguments: [(900, 100), (200_000, 12)] as [(length: Int, count: Int)],
        [false, true]
    )
    func damage(_ size: (length: Int, count: Int), _ isReopened: Bool) async throws {
        let (folder, time, path) = (try TemporaryFolder(), TestTime(), "cache")
        func open() async throws -> CachedClient {
            try await CachedClient(Self.origin(length: size.length), folder: folder.path(path), time: time) {
                $0.limit = .mebibytes(256)
            }
        }
        var client: CachedClient? = try await open()
        for number in 0..<size.count { _ = try await read(try #require(client), number) }
        let names = try cacheFiles(in: folder.path(path))
        #expect(names.count == size.count)
        if isReopened { client = nil }
        for (index, name) in names.enumerated() {
            try Self.damage(folder.path("\(path)/\(name)"), isCut: index.isMultiple(of: 2))
        }
        if isReopened { client = try await open() }
        let damaged = try #require(client)
        for number in 0..<size.count {
            let (source, bytes) = try await read(damaged, number)
            #expect(bytes == Self.body(number, length: size.length))
            if isReopened { #expect(source == .miss) }
        }
        if !isReopened { #expect(damaged.cache.counters.damaged >= size.count / 2) }
        for number in 0..<size.count { #expect(try await read(damaged, number).0 == .hit) }
    }

    private static func damage(_ path: String, isCut: Bool) throws {
        var bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        if isCut {
            bytes.removeLast(Int.random(in: 1...bytes.count))
        } else {
            // The zeros behind the head have no meaning.
            let room = Int(bytes[16]) | Int(bytes[17]) << 8
            let head = Int(bytes[12]) | Int(bytes[13]) << 8
            // As often in the body as before it, however long it is.
            let offset = Bool.random() ? Int.random(in: 0..<32 + head) : Int.random(in: 32 + room..<bytes.count)
            bytes[offset] ^= 1 << UInt8.random(in: 0..<8)
        }
        try #require(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
    }

    @Test("The files of others in the folder are left alone")
    func foreignFiles() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("cache")
        let cache = try CacheFolder(path)
        let digest = String(repeating: "0123456789abcdef", count: 4)
        let foreign = [
            "notes", "notes.response", "download.part", ".part", ".response", "\(digest).response",
            "\(digest)-.response",
            "\(digest)-xyz.response", "\(digest)-1-2.response", "\(digest.uppercased())-1.response", "-1.part",
            "\(digest)0-1.response", "\(digest)-11112222333344445.response",
        ]
        let own = ["7.part", "\(digest)-1.response", "\(digest)-1111222233334444.response"]
        for name in foreign + own {
            try #require(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data([1])))
        }
        #expect(try cache.load().isEmpty)
        #expect(Set(try cacheFiles(in: path)) == Set(foreign))
    }

    @Test("A response that is too old is removed with its file when responses are counted")
    func age() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        let path = folder.path("cache")
        let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time) {
            $0.maximumAge = .seconds(100)
        }
        _ = try await read(client, 1)
        time.move(seconds: 100)
        #expect(client.cache.entryCount == 1 && client.cache.byteCount > .bytes(900))
        time.move(seconds: 1)
        #expect(client.cache.entryCount == 0 && client.cache.byteCount == .bytes(0))
        #expect(await client.cache.storedResponses.isEmpty && client.cache.counters.evicted == 1)
        try await until { try cacheFiles(in: path).isEmpty }
    }

    @Test("A folder that is damaged in every file opens, and has no response")
    func damagedFolder() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        do {
            let client = try await CachedClient(Self.origin(length: 900), folder: folder.path("cache"), time: time)
            for number in 0..<50 { _ = try await read(client, number) }
        }
        let path = folder.path("cache")
        for (index, name) in try cacheFiles(in: path).enumerated() {
            var bytes = [UInt8](try #require(FileManager.default.contents(atPath: "\(path)/\(name)")))
            if index.isMultiple(of: 2) { bytes.removeLast(1 + index) } else { bytes[8 + index % 40] ^= 4 }
            try #require(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(bytes)))
        }
        // The first names that a process gives to its files.
        for name in ["1.part", "2.part", "7.part"] {
            try #require(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data([1])))
        }
        let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
        #expect(client.cache.entryCount == 0)
        #expect(try cacheFiles(in: path).isEmpty)
        for number in 0..<50 { #expect(try await read(client, number).1 == Self.body(number, length: 900)) }
    }

    /// The limit of descriptors is that of a process of its own.
    @Test("A response whose file cannot be opened now is fetched, and stays stored")
    func unreadable() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path("cache") as String] in
            let origin = ScriptedWire { request, number in
                let isAsked = request.headerFields.contains(.ifNoneMatch)
                let fields = ["cache-control": "max-age=60", "etag": "\"1\""]
                return Scripted(isAsked ? "" : "v\(number)", status: isAsked ? .notModified : .ok, fields)
                    .answer(to: request)
            }
            let client = try await CachedClient(origin, folder: path)
            #expect(texts([try await client.get(), try await client.get()]) == ["miss v0", "hit v0"])
            client.time.move(seconds: 61)
            var limit = rlimit()
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            guard getrlimit(kind, &limit) == 0 else { exit(3) }
            var none = limit
            none.rlim_cur = 0
            guard setrlimit(kind, &none) == 0 else { exit(3) }
            // The 304 response is of no use without the body.
            let reply = try? await client.get()
            guard setrlimit(kind, &limit) == 0 else { exit(3) }
            #expect(reply.map { texts([$0]) } == ["miss v2"])
            #expect(client.cache.entryCount == 1 && client.cache.counters.damaged == 0)
            #expect(texts([try await client.get(), try await client.get()]) == ["validated v0", "hit v0"])
        }
    }

    @Test("Files of responses that are too old or from the future are removed on opening")
    func times() throws {
        let folder = try TemporaryFolder()
        let cache = try CacheFolder(folder.path("cache"))
        let offsets: [Int64] = [-1001, -1000, 0, 1]
        for offset in offsets {
            var stored = head([:])
            stored.url = "http://one.test/\(offset)"
            stored.responseTime = arrival + offset
            let created = try #require(cache.create())
            let room = StoredFile.room(for: stored.encoded)
            let file = cache.finish(created.file, created.name, stored, room: room, bodyLength: 0)
            #expect(file != nil)
        }
        let loaded = try cache.load(arrival - 1000...arrival)
        #expect(loaded.map { $0.head.responseTime } == [arrival - 1000, arrival])
        #expect(try cacheFiles(in: folder.path("cache")).count == 2)
    }

    @Test("Files are for their owner alone, and stay within the limit")
    func limits() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("cache")
        let client = try await CachedClient(Self.origin(length: 10_000), folder: path) { $0.limit = .kibibytes(64) }
        for number in 0..<40 {
            _ = try await read(client, number)
            let names = try cacheFiles(in: path)
            let sizes = try names.map { name in
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                return attributes[.size] as? Int ?? 0
            }
            #expect(sizes.reduce(0, +) <= 65_536)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
        #expect(client.cache.counters.evicted > 0 && client.cache.byteCount <= .kibibytes(64))
    }

    @Test("A folder that others may open, a link and a path without a folder are refused")
    func refusals() async throws {
        let folder = try TemporaryFolder()
        try folder.write("text", to: "file")
        let open = folder.path("open")
        try FileManager.default.createDirectory(
            atPath: open,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        // Without its link the target could be used.
        let target = folder.path("target")
        try FileManager.default.createDirectory(
            atPath: target,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: target)
        let links = ["link", "link/", "link//", "link/.", "link/./"].map { folder.path($0) }
        for bad in links + [open, folder.path("none/below"), folder.path("file"), "", "a\0b"] {
            await #expect(throws: HTTPDNSClient.ResponseCache.Error.self) {
                try await HTTPDNSClient.ResponseCache.disk(bad)
            }
        }
        #expect(try await HTTPDNSClient.ResponseCache.disk(target + "/./").isFolderInUse)
    }

    @Test("A cache takes over a folder in use without the responses invalidated meanwhile")
    func takeover() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        let path = folder.path("cache")
        var first: CachedClient? = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
        for number in 1...3 { _ = try await read(try #require(first), number) }
        let log = RecordedLog()
        let second = try await CachedClient(
            Self.origin(length: 900),
            folder: path,
            isFolderTaken: true,
            time: time
        ) { _ in
        } client: {
            $0.logger = log.logger(.notice)
        }
        #expect(!second.cache.isFolderInUse && second.cache.entryCount == 0)
        time.move(seconds: 1)
        // This process knows nothing of the stored response that it invalidates.
        _ = try await second.client.post("http://one.test/1", body: .bytes([1])).body.collect(upTo: .mebibytes(1))
        #expect(try await read(second, 2).0 == .miss && second.origin.count == 2)
        first = nil
        try await second.cache.awaitFolder(second.clock)
        #expect(second.cache.entryCount == 2)
        #expect(try await read(second, 2).0 == .hit)
        #expect(try await read(second, 3).0 == .hit)
        #expect(try await read(second, 1).0 == .miss)
        // The newer one of two responses stays, and the file of the other is removed.
        #expect(try cacheFiles(in: path).filter { $0.hasSuffix(".response") }.count == 2)
        #expect(
            log.messages == ["cache folder is unavailable; responses stay in memory", "cache folder is in use again"]
        )
        let reason = "\(log.events[0].metadata?["reason"] ?? "")"
        #expect(reason.contains("another process or cache uses it"))
    }

    @Test("A cache whose responses were selected for removal takes over none of a folder")
    func selectedBefore() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        let path = folder.path("cache")
        var first: CachedClient? = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
        _ = try await read(try #require(first), 1)
        let second = try await CachedClient(
            Self.origin(length: 900),
            folder: path,
            isFolderTaken: true,
            time: time
        )
        await second.cache.removeAll { _ in false }
        first = nil
        try await second.cache.awaitFolder(second.clock)
        #expect(second.cache.entryCount == 0)
        #expect(try await read(second, 1).0 == .miss)
    }

    @Test("An unreadable file is removed, and the other responses of its folder are used")
    func unreadableFile() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        let path = folder.path("cache")
        do {
            let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
            for number in 1...3 { _ = try await read(client, number) }
        }
        // Nobody can read a folder as a file, and nobody can remove it as one.
        let name = "\(path)/\(String(repeating: "0", count: 64))-1.response"
        try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
        let log = RecordedLog()
        let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time) { _ in
        } client: {
            $0.logger = log.logger(.notice)
        }
        #expect(client.cache.isFolderInUse && client.cache.entryCount == 3 && client.cache.counters.damaged == 1)
        for number in 1...3 { #expect(try await read(client, number).0 == .hit) }
        #expect(
            log.messages == ["files of the cache folder cannot be read", "files of the cache folder cannot be removed"]
        )
    }

    @Test("A folder of another user is refused", .enabled("only root gives folders away") { geteuid() == 0 })
    func foreignOwner() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("cache")
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        #expect(chown(path, 65_534, 65_534) == 0)
        let error = await #expect(throws: HTTPDNSClient.ResponseCache.Error.self) {
            try await HTTPDNSClient.ResponseCache.disk(path)
        }
        #expect(error?.message.contains("it belongs to user 65534") == true)
        #expect(chown(path, geteuid(), getegid()) == 0)
        _ = try await HTTPDNSClient.ResponseCache.disk(path)
    }

    @Test(
        "A shared cache uses no response for one user from the folder of a private one",
        arguments: [["cache-control": "private, max-age=60"], ["cache-control": "max-age=60", "set-cookie": "a=1"]]
    )
    func otherMode(_ fields: [String: String]) async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        for (mode, expected) in [
            (HTTPDNSClient.ResponseCache.Mode.private, ["miss x", "hit x"]), (.private, ["hit x", "hit x"]),
            (.shared, ["miss x", "miss x"]),
        ] {
            let origin = ScriptedWire([Scripted("x", fields)])
            let client = try await CachedClient(origin, folder: folder.path("cache"), time: time) { $0.mode = mode }
            #expect(texts([try await client.get(), try await client.get()]) == expected, "\(mode)")
        }
    }

    @Test("Digests of credentials have the salt of their folder, also after a restart")
    func salt() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        var digests: Set<Substring> = []
        for (name, expected) in [("a", "miss x"), ("a", "hit x"), ("b", "miss x")] {
            let origin = ScriptedWire([Scripted("x", ["cache-control": "max-age=60", "vary": "cookie"])])
            let client = try await CachedClient(origin, folder: folder.path(name), time: time) { $0.mode = .private }
            #expect(texts([try await client.get(fields: ["authorization": "Basic YTpi"])]) == [expected])
            for file in try cacheFiles(in: folder.path(name)) { digests.insert(file.prefix(64)) }
        }
        #expect(digests.count == 2)
        // Other content is no salt.
        try folder.write("short", to: "a/salt")
        let origin = ScriptedWire([Scripted("y", ["cache-control": "max-age=60"])])
        let client = try await CachedClient(origin, folder: folder.path("a"), time: time) { $0.mode = .private }
        #expect(texts([try await client.get(fields: ["authorization": "Basic YTpi"])]) == ["miss y"])
    }

    @Test("A link in the folder is not followed")
    func links() async throws {
        let (folder, time) = (try TemporaryFolder(), TestTime())
        let path = folder.path("cache")
        do {
            let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
            _ = try await read(client, 1)
        }
        let name = try #require(try cacheFiles(in: path).first)
        try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: folder.path("moved"))
        try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: folder.path("moved"))
        let client = try await CachedClient(Self.origin(length: 900), folder: path, time: time)
        #expect(client.cache.entryCount == 0)
        #expect(FileManager.default.fileExists(atPath: folder.path("moved")))
    }
}
