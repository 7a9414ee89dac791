// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct ForeignStoreTests {
    private static let fresh = ["cache-control": "max-age=600"]

    /// An origin that numbers its responses.
    private func origin(_ fields: [String: String] = Self.fresh) -> ScriptedWire {
        ScriptedWire { request, number in Scripted("v\(number)", fields).answer(to: request) }
    }

    @Test("Two caches on one store have the same responses")
    func shared() async throws {
        let (store, time) = (TableStore(), TestTime())
        let first = try await CachedClient(origin(), store: store, time: time)
        let second = try await CachedClient(origin(), store: store, time: time)
        #expect(
            try await texts([first.get(), second.get(), second.get(method: .head)]) == ["miss v0", "hit v0", "hit "]
        )
        #expect(await second.cache.storedResponses.map(\.url) == [CachedClient.url])
        await second.cache.remove(url: CachedClient.url)
        #expect(try await texts([first.get(), second.get()]) == ["miss v1", "hit v1"])
        await first.cache.removeAll { $0.bodyLength == 2 }
        #expect(await store.ids.isEmpty)
        #expect(try await texts([second.get(), first.get()]) == ["miss v0", "hit v0"])
        await first.cache.removeAll()
        #expect(await store.ids.isEmpty && first.cache.counters.storeFailures == 0)
    }

    @Test("An error of any function of a store fails no call", arguments: TableStore.Call.allCases)
    func errors(_ call: TableStore.Call) async throws {
        let (store, log) = (TableStore(), RecordedLog())
        let client = try await CachedClient(origin(), store: store) { _ in
        } client: {
            $0.logger = log.logger()
        }
        if call == .read { _ = try await client.get() }
        store.fail([call])
        for _ in 0..<2 {
            let reply = try await client.get()
            #expect(reply.status == 200 && (reply.source == .miss || call == .remove))
        }
        _ = try await client.get(method: .post)
        #expect(client.cache.counters.storeFailures > 0)
        let warnings = log.events.filter { $0.message == "response store fails; requests go on without it" }
        #expect(warnings.first?.metadata?["reason"] == "it threw Failure")
        store.fail([call], nil)
        client.time.move(seconds: 1)
        #expect(try await texts([client.get(), client.get()]).map { $0.prefix(4) } == ["miss", "hit "])
        #expect(log.messages.contains("response store is in use again"))
    }

    /// Returns a client on a store with the response "v0", and with a clock that nobody has slept on.
    private func client(_ store: TableStore, limit: Duration) async throws -> CachedClient {
        let origin = origin()
        #expect(try await texts([CachedClient(origin, store: store).get()]) == ["miss v0"])
        return try await CachedClient(origin, store: store, limit: limit)
    }

    /// Makes a call of a certain time, whose waits for the store last as long as a test says.
    private func get(
        _ client: CachedClient,
        method: HTTPRequest.Method = .get,
        total: Duration,
        waits: [Duration]
    ) async throws -> Reply {
        async let reply = client.get(method: method) {
            $0.changeOptions { ($0.timeouts.total, $0.timeouts.responseHead) = (total, nil) }
        }
        for wait in waits {
            await client.clock.sleepers(atLeast: 1)
            client.clock.advance(by: wait)
        }
        return try await reply
    }

    @Test("A store that does not respond is left alone for 30 s")
    func hanging() async throws {
        let store = TableStore()
        let client = try await client(store, limit: .seconds(1))
        store.fail([.responses], .hang)
        #expect(try await texts([get(client, total: .seconds(60), waits: [.seconds(1)])]) == ["miss v1"])
        #expect(try await texts([client.get()]) == ["miss v2"])
        #expect(store.count(of: .responses) == 2 && client.cache.counters.storeFailures == 1)
        store.fail([.responses], nil)
        client.clock.advance(by: .seconds(29))
        #expect(try await texts([client.get()]) == ["miss v3"] && store.count(of: .responses) == 2)
        client.clock.advance(by: .seconds(1))
        #expect(try await texts([client.get()]) == ["hit v0"])
    }

    @Test("A store that does not respond leaves a call half of its time")
    func shortCall() async throws {
        let store = TableStore()
        let client = try await client(store, limit: .seconds(600))
        store.fail([.responses], .hang)
        let reply = try await get(client, total: .seconds(100), waits: [.seconds(50)])
        #expect(reply.source == .miss && reply.status == 200)
        // One call with little time is no reason to leave the store alone.
        store.fail([.responses], nil)
        #expect(try await client.get().source == .hit)
    }

    @Test("A store that does not respond to short calls is left alone after a limit in all")
    func shortCalls() async throws {
        let store = TableStore()
        let client = try await client(store, limit: .seconds(600))
        store.fail(TableStore.Call.allCases, .hang)
        // The first call waits a second time, to store its response.
        for waits in [2, 1, 0] {
            _ = try await get(client, total: .seconds(500), waits: .init(repeating: .seconds(250), count: waits))
        }
        #expect(store.count(of: .responses) == 1 + 2)
    }

    @Test("A canceled task still removes what it invalidates")
    func canceledRemoval() async throws {
        let store = TableStore()
        let guarded = GuardedStore(
            store,
            maximumEntry: 1000,
            clock: WallClock { 0 },
            time: SystemTimeSource(),
            onFailure: {}
        )
        let removal = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await guarded.remove(.url("https://one.test/"))
        }
        _ = await removal.result
        #expect(store.count(of: .remove) == 1)
    }

    @Test("A response is not used after its removal has failed", arguments: [TableStore.Fault.error, .hang])
    func failedRemoval(_ fault: TableStore.Fault) async throws {
        let store = TableStore()
        let client = try await client(store, limit: .seconds(1))
        store.fail([.remove], fault)
        _ = try await get(client, method: .post, total: .seconds(60), waits: fault == .hang ? [.seconds(1)] : [])
        store.fail([.remove], nil)
        client.clock.advance(by: .seconds(30))
        client.time.move(seconds: 1)
        #expect(await store.ids.count == 1)
        #expect(try await texts([client.get(), client.get()]) == ["miss v2", "hit v2"])
    }

    @Test("A response that is invalidated while it is being stored is removed")
    func invalidatedMeanwhile() async throws {
        let store = TableStore()
        let client = try await CachedClient(origin(), store: store)
        store.beforeFinish { [cache = client.cache] in await cache.remove(url: CachedClient.url) }
        #expect(try await texts([client.get()]) == ["miss v0"])
        #expect(await store.ids.isEmpty && client.cache.counters.stored == 0)
        store.beforeFinish(nil)
        #expect(try await texts([client.get(), client.get()]) == ["miss v1", "hit v1"])
    }

    @Test("A response that is invalidated while its validation is stored is removed")
    func invalidatedUpdate() async throws {
        let store = TableStore()
        let client = try await CachedClient(
            ScriptedWire([Scripted("v0", ["etag": "\"a\""]), Scripted(status: .notModified, ["etag": "\"a\""])]),
            store: store
        )
        #expect(try await texts([client.get(), client.get()]) == ["miss v0", "validated v0"])
        store.beforeFinish { [cache = client.cache] in await cache.remove(url: CachedClient.url) }
        #expect(try await texts([client.get()]) == ["validated v0"])
        #expect(await store.ids.isEmpty)
    }

    @Test("A store that returns other responses than asked for changes nothing")
    func ignoredSelection() async throws {
        let client = try await CachedClient(origin(), store: TableStore(ignoresSelection: true)) { $0.mode = .private }
        let (one, two) = ("http://one.test/1", "http://one.test/2")
        #expect(try await texts([client.get(one), client.get(two)]) == ["miss v0", "miss v1"])
        #expect(try await texts([client.get(one), client.get(two)]) == ["hit v0", "hit v1"])
        #expect(try await texts([client.get(one, fields: ["authorization": "Bearer a"])]) == ["miss v2"])
        #expect(try await texts([client.get(one, fields: ["authorization": "Bearer b"])]) == ["miss v3"])
        #expect(try await texts([client.get(one, fields: ["authorization": "Bearer a"])]) == ["hit v2"])
    }

    @Test("A body of another length than was asked for is a miss")
    func shortBody() async throws {
        let client = try await CachedClient(origin(), store: TableStore(missing: 1))
        #expect(try await texts([client.get(), client.get()]) == ["miss v0", "miss v1"])
        #expect(client.cache.counters.storeFailures == 1)
    }

    @Test("A long body is read in parts, and a failure in the middle ends it with an error")
    func longBody() async throws {
        let store = TableStore()
        let chunks = (0..<10).map { [UInt8](repeating: $0, count: 100_000) }
        let client = try await CachedClient(
            ScriptedWire { request, _ in Scripted(chunks: chunks, Self.fresh).answer(to: request) },
            store: store
        )
        let whole = try await client.get().body
        #expect(try await client.get().body == whole && whole.utf8.count == 1_000_000)
        #expect(store.count(of: .read) == 4)
        let part = try await client.get(fields: ["range": "bytes=300000-300009"])
        #expect(part.status == 206 && Array(part.body.utf8) == [UInt8](repeating: 3, count: 10))
        var body = try await client.client.get(CachedClient.url).body.makeAsyncIterator()
        _ = try await body.next()
        store.fail([.read])
        let error = await #expect(throws: HTTPDNSClientError.self) { while try await body.next() != nil {} }
        #expect(error?.code == .fileFailed && error?.phase == .body)
    }

    @Test("A response for the session and one that is too long are not stored")
    func limits() async throws {
        let store = TableStore()
        let client = try await CachedClient(origin(), store: store) { $0.maximumEntry = .bytes(1000) }
        _ = try await client.get { $0.cache.lifetime = .session }
        #expect(await store.ids.isEmpty)
        let long = try await CachedClient(
            ScriptedWire { request, _ in
                Scripted(chunks: [[UInt8](repeating: 1, count: 900)], Self.fresh).answer(to: request)
            },
            store: store
        ) { $0.maximumEntry = .bytes(1000) }
        _ = try await long.get()
        #expect(await store.ids.isEmpty && store.count(of: .writer) == 1 && store.count(of: .finish) == 0)
        #expect(try await texts([client.get(), client.get()]) == ["miss v1", "hit v1"])
    }

    @Test("A response is not used after the age limit of the cache")
    func age() async throws {
        let client = try await CachedClient(origin(["cache-control": "max-age=6000"]), store: TableStore()) {
            $0.maximumAge = .seconds(60)
        }
        #expect(try await texts([client.get(), client.get()]) == ["miss v0", "hit v0"])
        client.time.move(seconds: 61)
        #expect(try await texts([client.get(), client.get()]) == ["miss v1", "hit v1"])
    }

    @Test("The bytes of a head are read again, and no others are")
    func heads() throws {
        var stored = head(["etag": "\"a\"", "vary": "accept"])
        stored.vary = VaryFields([VaryFields.Field(name: "accept", value: "text/html")])
        let response = StoredResponse(ResponseIndex.Entry(stored, .elsewhere, bodyLength: 3, cost: 0))
        let bytes = response.encoded
        let again = try #require(StoredResponse(encoded: bytes, bodyLength: 3) { _ in [] })
        #expect(again.entry.head == stored && again.id == response.id && again.bodyLength == 3)
        for length in 0..<bytes.count {
            #expect(StoredResponse(encoded: Array(bytes.prefix(length)), bodyLength: 3) { _ in [] } == nil)
        }
        #expect(StoredResponse(encoded: [2] + bytes.dropFirst(), bodyLength: 3) { _ in [] } == nil)
        stored.vary = VaryFields([VaryFields.Field(name: "accept", value: nil)])
        #expect(StoredResponse(ResponseIndex.Entry(stored, .elsewhere, bodyLength: 3, cost: 0)).id != response.id)
    }
}
