// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS
@testable import HTTPDNSResponseCache

struct SharingTests {
    /// The server of these tests names the user that it answers.
    private static func origin(_ fields: [String: String]) -> ScriptedWire {
        ScriptedWire { request, _ in
            let user = request.headerFields[.authorization] ?? request.headerFields[.cookie] ?? "nobody"
            return Scripted(user, fields).answer(to: request)
        }
    }

    @TaskLocal private static var user = ""

    /// The client adds the credential below the step that merges calls, and calls of several users have one key there.
    @Test("A stored response to a credential that the client adds is for its own call alone")
    func addedCredential() async throws {
        let gate = Gate()
        let origin = ScriptedWire { request, number in
            let user = request.headerFields[.authorization] ?? "nobody"
            guard request.headerFields.contains(.ifNoneMatch) else {
                return Scripted(user, ["cache-control": "max-age=60", "etag": "\"1\""]).answer(to: request)
            }
            await gate.passage()
            return Scripted("", status: .notModified, ["etag": "\"1\""]).answer(to: request)
        }
        let client = try await CachedClient(origin) {
            $0.mode = .private
        } client: {
            $0.mergesIdenticalReads = true
            $0.computedHeaders = { _ in [.authorization: Self.user] }
        }
        let replies = try await Self.$user.withValue("a") { [try await client.get(), try await client.get()] }
        #expect(texts(replies) == ["miss a", "hit a"])
        client.time.move(seconds: 100)
        let first = Self.$user.withValue("a") { Task { try await client.get().body } }
        try await until { origin.count == 2 }
        let other = Self.$user.withValue("b") { Task { try await client.get().body } }
        try await until { origin.count == 3 || client.client.pipeline.reads.waiterCount > 0 }
        gate.open()
        #expect(try await first.value == "a")
        #expect(try await other.value == "b")
    }

    static let forms = [
        "max-age=60", "private, max-age=60", "no-cache", "max-age=60, must-revalidate", "public, max-age=60",
        "s-maxage=60",
    ]

    @Test(
        "A user with a token never gets the response of another token",
        arguments: forms,
        ["", "Authorization", "Accept"]
    )
    func tokens(_ control: String, _ vary: String) async throws {
        for mode in [HTTPDNSClient.ResponseCache.Mode.shared, .private] {
            var fields = ["cache-control": control, "etag": "\"1\""]
            if !vary.isEmpty { fields["vary"] = vary }
            let client = try await CachedClient(Self.origin(fields)) { $0.mode = mode }
            var hits = 0
            for round in 0..<3 {
                for user in ["alice", "bob"] {
                    let reply = try await client.get(fields: ["authorization": user])
                    #expect(reply.body == user, "\(mode), round \(round)")
                    if reply.source == .hit { hits += 1 }
                }
            }
            let isStored =
                control != "no-cache"
                && (mode == .private && control != "s-maxage=60"
                    || mode == .shared && ["public", "s-maxage", "must-revalidate"].contains { control.contains($0) })
            #expect(hits == (isStored ? 4 : 0), "\(mode)")
        }
    }

    /// The server validates any response with this tag, so a request with the other user's tag would get the other's body.
    @Test(
        "Two tokens at once get their own responses, in a folder and validated too",
        arguments: forms,
        ["", "Authorization", "Accept"]
    )
    func tokensTogether(_ control: String, _ vary: String) async throws {
        var fields = ["cache-control": control, "etag": "\"1\""]
        if !vary.isEmpty { fields["vary"] = vary }
        let origin = fields
        for (mode, isFile) in [
            (HTTPDNSClient.ResponseCache.Mode.shared, false), (.shared, true), (.private, false), (.private, true),
        ] {
            let folder = try TemporaryFolder()
            let server = ScriptedWire { request, _ in
                let isAsked = request.headerFields.contains(.ifNoneMatch)
                let user = request.headerFields[.authorization] ?? "nobody"
                return Scripted(isAsked ? "" : user, status: isAsked ? .notModified : .ok, origin).answer(to: request)
            }
            let client = try await CachedClient(server, folder: isFile ? folder.path("cache") : nil) { $0.mode = mode }
            var sources: Set<String> = []
            for round in 0..<4 {
                if round == 2 { client.time.move(seconds: 61) }
                async let alice = client.get(fields: ["authorization": "alice"])
                async let bob = client.get(fields: ["authorization": "bob"])
                let replies = try await [alice, bob]
                #expect(replies.map(\.body) == ["alice", "bob"], "\(mode), \(isFile), round \(round)")
                sources.formUnion(replies.map { $0.source?.description ?? "-" })
            }
            if mode == .private, control != "s-maxage=60" { #expect(sources.contains("validated")) }
        }
    }

    @Test("A name of a partition with the form of two parts is not two parts")
    func partitionForm() async throws {
        let client = try await CachedClient(Self.origin(CachingTests.maxAge))
        let one = try await client.get { $0.cache.partition = "a\nhost two.test" }
        let two = try await client.get {
            $0.cache.partition = "a"
            $0.changeOptions { $0.hostHeader = "two.test" }
        }
        #expect([one.source, two.source] == [.miss, .miss])
    }

    /// Each answer counts the uses of a nonce, so no later request has the same field.
    @Test("A response to a Digest answer is stored only in a partition of the request")
    func digest() async throws {
        for mode in [HTTPDNSClient.ResponseCache.Mode.shared, .private] {
            let client = try await CachedClient(Self.origin(["cache-control": "public, max-age=60"])) { $0.mode = mode }
            let field = ["authorization": "Digest username=\"a\", nc=00000001"]
            for _ in 0..<2 { #expect(try await client.get(fields: field).source == .miss) }
            #expect(client.cache.entryCount == 0)
            for source in [HTTPDNSClient.CacheSource.miss, .hit] {
                #expect(try await client.get(fields: field) { $0.cache.partition = "a" }.source == source)
            }
        }
    }

    /// RFC 9111 section 3.5: these directives declare the response to be for all.
    @Test(
        "A response to a token that is declared shared is for requests without a token",
        arguments: [("public, max-age=60", "alice"), ("s-maxage=60", "alice"), ("max-age=60", "nobody")]
    )
    func anonymous(_ control: String, _ expected: String) async throws {
        let client = try await CachedClient(Self.origin(["cache-control": control]))
        _ = try await client.get(fields: ["authorization": "alice"])
        #expect(try await client.get().body == expected)
    }

    @Test(
        "Credentials that differ in one byte outside ASCII do not share a response",
        arguments: [HTTPField.Name.authorization, .cookie]
    )
    func otherBytes(_ name: HTTPField.Name) async throws {
        let origin = ScriptedWire { request, number in
            Scripted("\(number)", ["cache-control": "max-age=60"]).answer(to: request)
        }
        let client = try await CachedClient(origin) { $0.mode = .private }
        var replies: [Reply] = []
        for byte in [UInt8(0xE9), 0xE8, 0xE9] {
            replies.append(
                try await client.get {
                    $0.headerFields.append(HTTPField(name: name, lenientValue: Array("user=caf".utf8) + [byte]))
                }
            )
        }
        #expect(texts(replies) == ["miss 0", "miss 1", "hit 0"])
    }

    @Test("A validation without a token does not give a response to another token")
    func validatedByOther() async throws {
        let origin = ScriptedWire { request, _ in
            let user = request.headerFields[.authorization] ?? "nobody"
            let isAsked = request.headerFields.contains(.ifNoneMatch)
            let fields = ["cache-control": "public, max-age=60", "etag": "\"1\""]
            return Scripted(isAsked ? "" : user, status: isAsked ? .notModified : .ok, fields).answer(to: request)
        }
        let client = try await CachedClient(origin)
        _ = try await client.get(fields: ["authorization": "alice"])
        client.time.move(seconds: 61)
        #expect(texts([try await client.get()]) == ["validated alice"])
        #expect(texts([try await client.get(fields: ["authorization": "bob"])]) == ["miss bob"])
        #expect(texts([try await client.get(fields: ["authorization": "alice"])]) == ["hit alice"])
    }

    @Test("A response to a cookie is not shared, and private for this cookie alone")
    func cookies() async throws {
        for (mode, expected) in [
            (HTTPDNSClient.ResponseCache.Mode.shared, ["miss a=1", "miss a=1", "miss a=2"]),
            (.private, ["miss a=1", "hit a=1", "miss a=2"]),
        ] {
            let client = try await CachedClient(Self.origin(CachingTests.maxAge)) { $0.mode = mode }
            var replies: [Reply] = []
            for cookie in ["a=1", "a=1", "a=2"] { replies.append(try await client.get(fields: ["cookie": cookie])) }
            #expect(texts(replies) == expected)
        }
    }

    @Test("A partition has responses of its own, by the rules of a private cache")
    func partitions() async throws {
        let client = try await CachedClient(Self.origin(["cache-control": "private, max-age=60"]))
        var replies: [Reply] = []
        for name in ["a", "a", "b"] {
            replies.append(
                try await client.get(fields: ["authorization": "token of \(name)"]) { $0.cache.partition = name }
            )
        }
        #expect(texts(replies) == ["miss token of a", "hit token of a", "miss token of b"])
    }

    @Test("The credential of a URL counts as an Authorization field")
    func urlCredential() async throws {
        let client = try await CachedClient(Self.origin(CachingTests.maxAge)) {
            $0.mode = .private
        } client: {
            $0.allowsCleartextCredentials = true
        }
        var sources: [HTTPDNSClient.CacheSource?] = []
        for user in ["a:1", "a:1", "a:2"] {
            sources.append(try await client.get("http://\(user)@one.test/page").source)
        }
        #expect(sources == [.miss, .hit, .miss])
        let shared = try await CachedClient(
            Self.origin(CachingTests.maxAge),
            client: { $0.allowsCleartextCredentials = true }
        )
        for _ in 0..<2 { #expect(try await shared.get("http://a:1@one.test/page").source == .miss) }
    }

    @Test("The jar gets the cookies of received responses, and no stored ones again")
    func jar() async throws {
        let stored = ["cache-control": "max-age=60", "etag": "\"1\"", "set-cookie": "a=1"]
        let origin = ScriptedWire([
            Scripted("x", stored), Scripted("", status: .notModified),
            Scripted("", status: .notModified, ["set-cookie": "b=2"]),
        ])
        let client = try await CachedClient(origin) {
            $0.mode = .private
        } client: {
            $0.cookies = .memory()
        }
        let jar = try #require(client.client.cookieJar)
        for (source, cookie, learned) in [
            (HTTPDNSClient.CacheSource.miss, "a=1", 1), (.hit, "a=1", 0), (.validated, "a=1", 0), (.hit, "a=1", 0),
            (.validated, "b=2", 1), (.hit, "b=2", 0),
        ] {
            if source == .validated { client.time.move(seconds: 61) }
            let reply = try await client.get()
            #expect(reply.source == source && reply.fields[values: .setCookie] == [cookie])
            #expect(jar.cookies.count == learned)
            // A request with another cookie has another response.
            jar.removeAll()
        }
    }

    @Test("A stale response that replaces a failure adds no cookie to the jar")
    func staleJar() async throws {
        let origin = ScriptedWire([
            Scripted("x", ["cache-control": "max-age=60, stale-if-error=60", "set-cookie": "a=1"]),
            Scripted("down", status: .serviceUnavailable, ["set-cookie": "b=2"]),
        ])
        let client = try await CachedClient(origin) {
            $0.mode = .private
        } client: {
            $0.cookies = .memory()
        }
        _ = try await client.get()
        client.client.cookieJar?.removeAll()
        client.time.move(seconds: 61)
        #expect(texts([try await client.get()]) == ["stale x"])
        #expect(client.client.cookieJar?.cookies.isEmpty == true)
    }

    @Test(
        "The number of requests in flight for one response is one",
        arguments: [HTTPDNSClient.ResponseCache.Mode.shared, .private],
        [false, true]
    )
    func collapsing(_ mode: HTTPDNSClient.ResponseCache.Mode, _ isFile: Bool) async throws {
        let (gate, arrived) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            arrived.open()
            await gate.passage()
            return Scripted("v\(number)", CachingTests.maxAge).answer(to: request)
        }
        let folder = try TemporaryFolder()
        let client = try await CachedClient(origin, folder: isFile ? folder.path("cache") : nil) { $0.mode = mode }
        let replies = try await withThrowingTaskGroup(of: Reply.self) { tasks in
            for _ in 0..<20 { tasks.addTask { try await client.get() } }
            await arrived.passage()
            // The leader has arrived; the others wait for it on the clock.
            await client.clock.sleepers(atLeast: 19)
            gate.open()
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(origin.count == 1)
        #expect(Set(replies.map(\.body)) == ["v0"])
        #expect(replies.count { $0.source == .hit } == 19)
    }

    @Test("A canceled request hands its fetch over to one that waits")
    func handOver() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            guard number == 0 else { return Scripted("v\(number)", CachingTests.maxAge).answer(to: request) }
            arrived.open()
            try await Task.sleep(for: .seconds(3600))
            return Scripted("never").answer(to: request)
        }
        let client = try await CachedClient(origin)
        let leader = Task { try await client.get() }
        await arrived.passage()
        let waiters = (0..<5).map { _ in Task { try await client.get() } }
        await client.clock.sleepers(atLeast: 5)
        leader.cancel()
        for waiter in waiters { #expect(try await waiter.value.body == "v1") }
        await #expect(throws: (any Error).self) { try await leader.value }
        #expect(origin.count == 2)
        gate.open()
    }

    @Test("A patient request sends for the others when the time of its leader has passed")
    func impatientLeader() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            guard number == 0 else { return Scripted("v\(number)", CachingTests.maxAge).answer(to: request) }
            arrived.open()
            await gate.passage()
            throw TransferFailure(code: .timedOut, phase: .total, message: "no response")
        }
        let client = try await CachedClient(origin)
        let leader = Task { try await client.get() }
        await arrived.passage()
        let waiters = (0..<5).map { _ in Task { try await client.get() } }
        await client.clock.sleepers(atLeast: 5)
        gate.open()
        for waiter in waiters { #expect(try await waiter.value.body == "v1") }
        let error = await #expect(throws: HTTPDNSClientError.self) { try await leader.value }
        #expect(error?.isCallDeadline == true && origin.count == 2)
    }

    @Test("Requests that wait for a response that may not be stored are all sent")
    func notStorable() async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(0, ["cache-control": "no-store"])
        let client = try await CachedClient(origin)
        let bodies = try await withThrowingTaskGroup(of: String.self) { tasks in
            tasks.addTask { try await client.get().body }
            await arrived.passage()
            for _ in 0..<4 { tasks.addTask { try await client.get().body } }
            await client.clock.sleepers(atLeast: 4)
            gate.open()
            return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == ["v0", "v1", "v2", "v3", "v4"])
    }

    /// The clock of the waits does not move: a request that waited would wait for ever.
    @Test(
        "A hung response for one user delays no other user's request",
        arguments: [["cookie": "a=1"], ["authorization": "Bearer a"]]
    )
    func hung(_ fields: [String: String]) async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(0, ["cache-control": "public, max-age=60"])
        let client = try await CachedClient(origin)
        let first = Task { try await client.get(fields: fields).body }
        await arrived.passage()
        // With a cookie even the same user waits in vain.
        let other = fields.mapValues { fields["cookie"] == nil ? $0 + "b" : $0 }
        #expect(try await client.get(fields: other).body == "v1")
        #expect(try await client.get(fields: [:]).body != "v0")
        gate.open()
        #expect(try await first.value == "v0")
    }

    @Test(
        "Requests for a response that is not stored do not wait for others for minutes",
        arguments: ["no-store", "private, max-age=60", "max-age=0", "max-age=60|set-cookie"]
    )
    func remembered(_ control: String) async throws {
        let (arrived, gate) = (Gate(), Gate())
        let parts = control.split(separator: "|").map(String.init)
        var fields = ["cache-control": parts[0]]
        if parts.count > 1 { fields[parts[1]] = "a=1" }
        let origin = ScriptedWire { [fields] request, number in
            if number == 1 {
                arrived.open()
                await gate.passage()
            }
            return Scripted("v\(number)", fields).answer(to: request)
        }
        let client = try await CachedClient(origin)
        #expect(try await client.get().body == "v0")
        let hung = Task { try await client.get().body }
        await arrived.passage()
        for number in 2..<5 { #expect(try await client.get().body == "v\(number)") }
        // Later they do, since its responses may have changed.
        client.clock.advance(by: .seconds(241))
        let leader = client.cache.reads.lead(try fetchKey(client), order: 0)
        let waiter = Task { try await client.get().body }
        await client.clock.sleepers(atLeast: 1)
        leader?.end(.alone(isRemembered: false))
        #expect(try await waiter.value == "v5")
        gate.open()
        #expect(try await hung.value == "v1")
    }

    /// The key of the requests of ``CachedClient``.
    private func fetchKey(_ client: CachedClient) throws -> FetchKey {
        FetchKey(method: .get, url: CachedClient.url, partition: "", credential: nil, depth: 0)
    }

    @Test("A stored response ends the memory of one that was not storable")
    func storableAgain() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            if number == 2 {
                arrived.open()
                await gate.passage()
            }
            let control = ["no-store", "max-age=1", "max-age=60"][min(number, 2)]
            return Scripted("v\(number)", ["cache-control": control]).answer(to: request)
        }
        let client = try await CachedClient(origin)
        for number in 0..<2 { #expect(try await client.get().body == "v\(number)") }
        client.time.move(seconds: 5)
        let leader = Task { try await client.get() }
        await arrived.passage()
        let waiters = (0..<3).map { _ in Task { try await client.get() } }
        await client.clock.sleepers(atLeast: 3)
        gate.open()
        for waiter in waiters { #expect(texts([try await waiter.value]) == ["hit v2"]) }
        #expect(try await leader.value.source == .miss && origin.count == 3)
    }

    @Test("An unread body keeps other requests waiting for 100 ms, and its own caller too", arguments: [1, 4])
    func unreadBody(_ count: Int) async throws {
        let origin = ScriptedWire.numbered()
        let client = try await CachedClient(origin)
        let unread = try await client.client.get(CachedClient.url)
        let others = (0..<count).map { _ in Task { try await client.get() } }
        // Each waits until its limit, and one check for all of them is at 100 ms.
        await client.clock.sleepers(atLeast: count + 1)
        #expect(origin.count == 1)
        client.clock.advance(by: .milliseconds(100))
        var replies: [Reply] = []
        for other in others { replies.append(try await other.value) }
        #expect(Set(replies.map(\.body)) == ["v1"] && origin.count == 2)
        #expect(try await unread.body.collect(upTo: .kibibytes(1)) == Array("v0".utf8))
    }

    @Test("A body that is read in pauses keeps others waiting for 100 ms of pauses")
    func slowReader() async throws {
        let chunks = (0..<10).map { [UInt8($0)] }
        let origin = ScriptedWire { request, number in
            Scripted(chunks: chunks, CachingTests.maxAge).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let response = try await client.client.get(CachedClient.url)
        let other = Task { try await client.get() }
        await client.clock.sleepers(atLeast: 2)
        var iterator = response.body.makeAsyncIterator()
        for number in 0..<4 {
            client.clock.advance(by: .milliseconds(24))
            #expect(try await iterator.next() == [UInt8(number)] && origin.count == 1)
        }
        client.clock.advance(by: .milliseconds(24))
        #expect(try await other.value.source == .miss && origin.count == 2)
    }

    /// The clock does not move: the 100 ms of an unread body do not pass.
    @Test("A body that is dropped, or left in the middle, delays no other request", arguments: [false, true])
    func leftBody(isBegun: Bool) async throws {
        let origin = ScriptedWire { request, number in
            Scripted(chunks: [Array("v".utf8), Array("\(number)".utf8)], CachingTests.maxAge).answer(to: request)
        }
        let client = try await CachedClient(origin)
        var response: HTTPDNSClient.Response? = try await client.client.get(CachedClient.url)
        var iterator = isBegun ? response?.body.makeAsyncIterator() : nil
        _ = try await iterator?.next()
        let other = Task { try await client.get().body }
        await client.clock.sleepers(atLeast: 2)
        #expect(origin.count == 1)
        // The end of the iterator is enough.
        if isBegun { iterator = nil } else { response = nil }
        #expect(try await other.value == "v1")
        withExtendedLifetime(response) {}
    }

    @Test("A call inside another one of its URL does not wait for it")
    func nested() async throws {
        let inner = Lock<(@Sendable () async throws -> String)?>(nil)
        let origin = ScriptedWire.numbered()
        let client = try await CachedClient(origin) { _ in
        } client: {
            $0.networkInterceptors = [
                Around.before { _ in
                    let call = inner.withLock { call in
                        defer { call = nil }
                        return call
                    }
                    _ = try await call?()
                }
            ]
        }
        inner.withLock { $0 = { try await client.get().body } }
        #expect(try await client.get().body == "v1")
        #expect(origin.count == 2)
    }

    @Test("A more urgent request does not wait for a less urgent one")
    func urgent() async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(0)
        let client = try await CachedClient(origin)
        let prefetch = Task { try await client.get { $0.changeOptions { $0.priority = .low } } }
        await arrived.passage()
        #expect(try await client.get().body == "v1")
        gate.open()
        _ = try await prefetch.value
    }

    @Test("HEAD requests do not wait for each other, nor do requests after a failure")
    func noWait() async throws {
        let (gate, arrived) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            if request.method == .head {
                if number == 0 {
                    arrived.open()
                    await gate.passage()
                }
                return Scripted("", CachingTests.maxAge).answer(to: request)
            }
            if number == 2 { await gate.passage() }
            throw TransferFailureSample.refused
        }
        let client = try await CachedClient(origin)
        let head = Task { try await client.get(method: .head) }
        await arrived.passage()
        #expect(try await client.get(method: .head).source == .miss)
        let failing = (0..<4).map { _ in Task { try await client.get() } }
        await client.clock.sleepers(atLeast: 3)
        gate.open()
        for task in failing {
            let error = await #expect(throws: HTTPDNSClientError.self) { try await task.value }
            #expect(error?.code == .connectFailed)
        }
        #expect(try await head.value.status == 200)
        #expect(origin.count == 6)
    }

    @Test("A request waits for another one only for a limited time")
    func waitLimit() async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(0)
        let client = try await CachedClient(origin)
        let leader = Task { try await client.get() }
        await arrived.passage()
        let waiter = Task { try await client.get() }
        await client.clock.sleepers(atLeast: 1)
        client.clock.advance(by: .seconds(5))
        #expect(try await waiter.value.body == "v1")
        gate.open()
        #expect(try await leader.value.body == "v0")
    }

    /// The first response is another variant, and the second one does not come.
    @Test("All waits of a request for others have one limit together")
    func sumOfWaits() async throws {
        let gates = [Gate(), Gate()]
        let origin = ScriptedWire { request, number in
            if number < 2 { await gates[number].passage() }
            let fields = ["cache-control": "max-age=60", "vary": "accept"]
            return Scripted("v\(number)", fields).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let first = Task { try await client.get(fields: ["accept": "a"]).body }
        try await until { origin.count == 1 }
        let others = (0..<2).map { _ in Task { try await client.get(fields: ["accept": "b"]).body } }
        await client.clock.sleepers(atLeast: 2)
        client.clock.advance(by: .seconds(3))
        gates[0].open()
        #expect(try await first.value == "v0")
        // One of the others sends, and the last one waits for it.
        try await until { origin.count == 2 && client.cache.reads.waiterCount == 1 }
        client.clock.advance(by: .seconds(2))
        try await until { origin.count == 3 }
        gates[1].open()
        var bodies: Set<String> = []
        for other in others { bodies.insert(try await other.value) }
        #expect(bodies == ["v1", "v2"])
    }
}
