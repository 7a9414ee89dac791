// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache
import HTTPDNSTesting
import ServerRig
import Testing

/// Stubs and recordings below a response cache, which gets bodies coded and decodes them for the caller.
struct StubbedResponsesTests {
    private static let fields = ["content-encoding": "gzip", "cache-control": "max-age=60", "etag": "\"1\""]
    private static let json = #"{"a":1,"b":2}"#

    private static func coded(_ text: String) throws -> [UInt8] { try ContentEncoder.encoded(Array(text.utf8), "gzip") }

    /// A server whose responses are these texts in gzip, in turn.
    private static func origin(_ texts: String...) throws -> ScriptedWire {
        ScriptedWire(try texts.map { Scripted(chunks: [try coded($0)], fields) })
    }

    /// The body is in gzip twice and declares one: a second decoding would be seen, and a missing one too.
    @Test("A coded answer of a stub is decoded once, for the first call and for a hit")
    func decodedOnce() async throws {
        let inner = try Self.coded("hello")
        let stubs = HTTPDNSStubs()
        let stub = stubs.on(.get, CachedClient.url).respond(
            .bytes(
                try ContentEncoder.encoded(inner, "gzip"),
                headers: [.contentEncoding: "gzip", .cacheControl: "max-age=60"]
            )
        )
        let client = try await CachedClient(ScriptedWire([])) { _ in
        } client: {
            $0.use(stubs)
        }
        for source in [HTTPDNSClient.CacheSource.miss, .hit, .hit] {
            let response = try await client.client.get(CachedClient.url)
            #expect(response.cacheSource == source)
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == inner)
        }
        #expect(stub.uses == 1 && client.origin.count == 0)
        // The stored body is the coded one.
        let raw = try await client.get { $0.changeOptions { $0.decodesBody = false } }
        #expect(raw.source == .hit && raw.fields[.contentEncoding] == "gzip")
    }

    @Test("A scope of stubs shares neither a stored response nor a request with other tasks")
    func scopes() async throws {
        let (stubs, arrived, gate) = (HTTPDNSStubs(), Gate(), Gate())
        let maxAge: HTTPFields = [.cacheControl: "max-age=60"]
        stubs.on(.get, CachedClient.url).respond(.bytes(Array("outside".utf8), headers: maxAge))
        let client = try await CachedClient(ScriptedWire([])) { _ in
        } client: {
            $0.mergesIdenticalReads = true
            $0.use(stubs)
        }
        #expect(texts([try await client.get(), try await client.get()]) == ["miss outside", "hit outside"])
        let replies = try await withThrowingTaskGroup(of: [Reply].self) { tasks in
            for name in ["a", "b"] {
                tasks.addTask {
                    try await stubs.scope { () async throws in
                        let stub = stubs.on(.get, CachedClient.url).respond(
                            .bytes(Array(name.utf8), headers: maxAge)
                        )
                        let replies = [try await client.get(), try await client.get()]
                        #expect(stub.uses == 2)
                        try stubs.verify()
                        return replies
                    }
                }
            }
            return try await tasks.reduce(into: []) { $0.append(contentsOf: $1) }
        }
        #expect(Set(replies.map(\.body)) == ["a", "b"] && replies.allSatisfy { $0.source == nil })
        #expect(client.cache.entryCount == 1)
        #expect(texts([try await client.get()]) == ["hit outside"])
        await client.cache.removeAll()
        // A request outside hangs, and one of a scope does not wait for it.
        stubs.on(.get, CachedClient.url).respond(
            .custom { _ in
                arrived.open()
                await gate.passage()
                return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([]))
            }
        )
        let hung = Task { try await client.get().source }
        await arrived.passage()
        try await stubs.scope { () async throws in
            stubs.on(.get, CachedClient.url).respond(.bytes(Array("inside".utf8), headers: maxAge))
            #expect(try await client.get().body == "inside")
        }
        gate.open()
        #expect(try await hung.value == .miss)
    }

    @Test("A patch for a real response gets its JSON decoded, with and without a cache", arguments: [true, false])
    func patched(isCached: Bool) async throws {
        let stubs = HTTPDNSStubs()
        let stub = stubs.on(.get, CachedClient.url).respond(try .passingThrough(mergingJSON: #"{"b": 3}"#))
        let client = try await CachedClient(try Self.origin(Self.json)) { _ in
        } client: {
            if !isCached { $0.responseCache = nil }
            $0.use(stubs)
        }
        for source in [HTTPDNSClient.CacheSource.miss, .hit] {
            let reply = try await client.get()
            #expect(reply.body == #"{"a":1,"b":3}"# && reply.source == (isCached ? source : nil))
            #expect(!reply.fields.contains(.contentEncoding))
        }
        #expect(stub.uses == (isCached ? 1 : 2))
    }

    @Test(
        "A change of a real response gets its text decoded, with and without a cache",
        arguments: [true, false]
    )
    func changed(isCached: Bool) async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, CachedClient.url).respond(
            .passingThrough { response in
                #expect(response.changeBody { $0.replacing("a", with: "c") })
            }
        )
        let client = try await CachedClient(try Self.origin(Self.json)) { _ in
        } client: {
            if !isCached { $0.responseCache = nil }
            $0.use(stubs)
        }
        for _ in 0..<2 { #expect(try await client.get().body == #"{"c":1,"b":2}"#) }
        // A caller that decodes itself gets what the server sent.
        stubs.removeAll()
        stubs.on(.get, CachedClient.url).respond(.passingThrough())
        let response = try await client.client.get(CachedClient.url + "?raw") { $0.decodesBody = false }
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Self.coded(Self.json))
    }

    /// Records with a client, and plays the file back with others.
    private func replies(
        _ file: String,
        _ mode: HTTPDNSRecording.Mode,
        isCached: Bool,
        _ origin: ScriptedWire,
        fields: [[String: String]]
    ) async throws -> [Reply] {
        let recording = try HTTPDNSRecording(file, mode: mode)
        let client = try await CachedClient(origin) { _ in
        } client: {
            if !isCached { $0.responseCache = nil }
            $0.use(recording)
        }
        var replies: [Reply] = []
        for fields in fields { replies.append(try await client.get(fields: fields)) }
        try recording.save()
        return replies
    }

    @Test(
        "A recording of coded responses serves clients with and without a cache alike",
        arguments: [true, false],
        [true, false]
    )
    func recorded(isRecordedWithCache: Bool, isPlayedBackWithCache: Bool) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("coded.har")
        let origin = try Self.origin("one", "two")
        // Each request reaches the server, also with a cache.
        let calls = Array(repeating: ["cache-control": "no-store"], count: 2)
        let recorded = try await replies(file, .record, isCached: isRecordedWithCache, origin, fields: calls)
        #expect(recorded.map(\.body) == ["one", "two"] && origin.count == 2)
        #expect(folder.read("coded.har")?.contains("\"text\" : \"one\"") == true)
        let played = try await replies(file, .playBack, isCached: isPlayedBackWithCache, origin, fields: calls)
        #expect(played.map(\.body) == ["one", "two"] && played.map(\.status) == [200, 200] && origin.count == 2)
    }

    @Test("A recorded response that a cache stored is stored again when played back")
    func storedAgain() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("stored.har")
        let origin = try Self.origin("one")
        for mode in [HTTPDNSRecording.Mode.record, .playBack] {
            let replies = try await replies(file, mode, isCached: true, origin, fields: [[:], [:]])
            #expect(texts(replies) == ["miss one", "hit one"])
        }
        #expect(origin.count == 1)
        let plain = try await replies(file, .playBack, isCached: false, origin, fields: [[:], [:]])
        #expect(texts(plain) == ["- one", "- one"])
    }

    @Test("A recorded validation is a 304 for a cache, and the response without one")
    func validated() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("validated.har")
        let origin = ScriptedWire([
            Scripted("one", ["etag": "\"1\"", "cache-control": "no-cache"]),
            Scripted(status: .notModified, ["etag": "\"1\""]),
            Scripted("two", ["etag": "\"2\"", "cache-control": "no-cache"]),
        ])
        let calls: [[String: String]] = [[:], [:], [:]]
        let recorded = try await replies(file, .record, isCached: true, origin, fields: calls)
        #expect(texts(recorded) == ["miss one", "validated one", "miss two"] && origin.count == 3)
        let cached = try await replies(file, .playBack, isCached: true, origin, fields: calls)
        #expect(texts(cached) == texts(recorded))
        let plain = try await replies(file, .playBack, isCached: false, origin, fields: calls + [[:]])
        #expect(texts(plain) == ["- one", "- one", "- two", "- two"] && plain.allSatisfy { $0.status == 200 })
        // A condition of the caller gets the recorded 304.
        let conditional = try await replies(
            file,
            .playBack,
            isCached: false,
            origin,
            fields: [[:], ["if-none-match": "\"1\""]]
        )
        #expect(conditional.map(\.status) == [200, 304] && origin.count == 3)
    }
}
