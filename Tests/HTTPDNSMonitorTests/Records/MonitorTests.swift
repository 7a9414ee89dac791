// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import HTTPDNSResponseCache
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct MonitorTests {
    private typealias Request = HTTPDNSClient.Request

    @Test("A monitor records only while it is on, and each call once")
    func startAndStop() async throws {
        let server = try RawServer(.serve("hello"))
        let monitored = try await MonitoredClient(["one.test": server.port])
        let (client, monitor) = (monitored.client, monitored.monitor)
        monitor.start(on: client)
        #expect(monitor.isStarted(on: client))
        await monitored.get("http://one.test/on")
        monitor.stop(on: client)
        monitor.stop(on: client)
        monitor.stop()
        #expect(!monitor.isStarted(on: client))
        await monitored.get("http://one.test/off")
        monitor.start(on: client)
        await monitored.get("http://one.test/again")
        #expect(monitor.records.map(\.url) == ["http://one.test/on", "http://one.test/again"])
        #expect(monitor.counters.calls.calls == 2 && monitor.counters.records == 2)
        try await client.shutdown()
    }

    @Test("A monitor among the observers of the settings records all calls of the client")
    func configured() async throws {
        let server = try RawServer(.serve("hello"))
        let monitor = Monitor()
        let monitored = try await MonitoredClient(["one.test": server.port]) { $0.observers = [monitor] }
        await monitored.get("http://one.test/a")
        #expect(monitor.records.map(\.url) == ["http://one.test/a"] && !monitor.isStarted(on: monitored.client))
        try await monitored.client.shutdown()
    }

    @Test("Starts and stops under load leave stubs, cache and recorders alone")
    func displacesNothing() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, path: "/a").respond(.text("stub", headers: [.cacheControl: "max-age=600"]))
        let passed = Journal<String>()
        var configuration = HTTPDNSClient.Configuration()
        configuration.use(stubs)
        configuration.responseCache = .memory()
        configuration.applicationInterceptors = [Around.before { passed.write($0.url) }]
        let client = try await HTTPDNSClient(configuration: configuration)
        // The response is stored before the others begin.
        _ = try await client.get("http://one.test/a").body.collect(upTo: .kibibytes(1))
        let recording = client.recordCalls { _ in }
        let (first, second) = (Monitor(), Monitor())
        second.start(on: client)
        let count = 200
        try await withThrowingTaskGroup(of: String.self) { tasks in
            for number in 0..<count {
                tasks.addTask {
                    // Starts and stops come between the calls of the other tasks.
                    if number.isMultiple(of: 2) { first.start(on: client) } else { first.stop(on: client) }
                    let body = try await client.get("http://one.test/a").body.collect(upTo: .kibibytes(1))
                    return String(decoding: body, as: UTF8.self)
                }
            }
            for try await text in tasks { #expect(text == "stub") }
        }
        #expect(passed.all.count == count + 1 && recording.counters.calls == count)
        #expect(second.counters.calls.calls == count && second.records.count == count)
        #expect(first.counters.calls.calls == first.records.count)
        #expect(second.counters.traffic.answeredInProcess == count && second.counters.traffic.requests == 0)
        #expect(stubs.requests.count == 1, "the cache answered")
        try await client.shutdown()
    }

    @Test("A record is edited before it is stored, or dropped")
    func edited() async throws {
        let server = try RawServer(.serve("hello"))
        let settings = Monitor.Settings.with {
            $0.edit = { record in
                record.hops = []
                return !record.url.contains("/private")
            }
        }
        let monitored = try await MonitoredClient(["one.test": server.port], settings)
        for path in ["a", "private/b", "c"] { await monitored.get("http://one.test/\(path)") }
        let (records, counters) = (monitored.monitor.records, monitored.monitor.counters)
        #expect(
            records.map(\.url) == ["http://one.test/a", "http://one.test/c"] && records.allSatisfy { $0.hops.isEmpty }
        )
        #expect(counters.calls.calls == 3 && counters.records == 2)
        try await monitored.client.shutdown()
    }

    @Test("A validated hop has the status of the stored response, whose fields it has")
    func validated() async throws {
        let server = try RawServer(
            .readHead,
            .respond("hello", fields: "ETag: \"a\"\r\nCache-Control: max-age=0\r\n"),
            .readHead,
            .sendText("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
            .hang
        )
        let monitored = try await MonitoredClient(["one.test": server.port]) { $0.responseCache = .memory() }
        for _ in 0..<2 { #expect(await monitored.get("http://one.test/a") == Array("hello".utf8)) }
        let hops = monitored.monitor.records.flatMap(\.hops)
        #expect(hops.map(\.status) == [200, 200] && hops.map(\.cacheSource) == ["miss", "validated"])
        try await monitored.client.shutdown()
    }

    @Test("A released monitor stops, and does not keep its clients")
    func released() async throws {
        let server = try RawServer(.serve("hello"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(server.port)"])
        ]
        var client: HTTPDNSClient? = try await HTTPDNSClient(configuration: configuration)
        weak let weakClient = client
        var monitor: Monitor? = Monitor()
        weak let weakMonitor = monitor
        if let client { monitor?.start(on: client) }
        monitor = nil
        #expect(weakMonitor == nil)
        let kept = Monitor()
        if let client {
            kept.start(on: client)
            try await client.shutdown()
        }
        client = nil
        #expect(weakClient == nil)
        kept.stop()
    }

    @Test("A record has all hops with their address, times, bytes and fields")
    func hops() async throws {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let second = try RawServer(.serve("hello", fields: "X-A: b\r\n"))
        let first = try RawServer(
            .serve("moved", status: "302 Found", fields: "Location: http://two.test/b?c=d\r\n")
        )
        let monitored = try await MonitoredClient(["one.test": first.port]) { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key("two.test")] = .addresses([
                "127.0.0.1:\(gone.port)", "127.0.0.1:\(second.port)",
            ])
            configuration.headers.fields = [.userAgent: "monitor/1"]
        }
        #expect(await monitored.get("http://one.test/a#part") == Array("hello".utf8))
        let record = try #require(monitored.monitor.records.first)
        #expect(record.url == "http://one.test/a" && record.status == 200 && record.outcome == "finished")
        try #require(record.hops.count == 2 && second.connections.count == 1)
        #expect(record.redirects == 1 && record.bodyBytes == 5 && record.isBodyComplete && record.failure == nil)
        #expect(record.hops.map(\.url) == ["http://one.test/a", "http://two.test/b?c=d"])
        #expect(record.hops.map(\.status) == [302, 200] && record.hops.map(\.reason) == ["Found", "OK"])
        #expect(record.hops.allSatisfy { $0.requestFields[.userAgent] == "monitor/1" && $0.version == "HTTP/1.1" })
        #expect(record.hops[1].responseFields[try #require(HTTPField.Name("X-A"))] == "b")
        #expect(record.requestBody == nil && record.responseBody == nil)
        let addresses = record.hops[1].addresses
        #expect(addresses.source == "mapping" && addresses.mapping == "two.test" && addresses.provider == nil)
        #expect(addresses.candidates == ["127.0.0.1:\(gone.port)", "127.0.0.1:\(second.port)"])
        #expect(addresses.endpoint == "127.0.0.1:\(second.port)")
        #expect(addresses.attempts.map(\.endpoint) == ["127.0.0.1:\(gone.port)"])
        let hop = record.hops[1]
        #expect(hop.phases.connect != nil && hop.phases.tls == nil && hop.phases.firstByte != nil)
        #expect(hop.bytes.requestHead == Int64(second.connections[0].received.count) && hop.bytes.requestBody == 0)
        #expect(hop.bytes.responseBody == 5 && hop.bytes.decodedBody == 5)
        #expect(hop.offset > .zero && record.duration >= hop.offset)
        try await monitored.client.shutdown()
    }

    @Test("A hop has the provider that named its address, and the age of the answer")
    func provider() async throws {
        let server = try RawServer(.serve("hello"))
        let clock = HTTPDNSManualClock()
        let provider = HTTPDNSScriptedProvider(
            answerScope: .loopback,
            scripts: [
                try HTTPDNSName("one.test"): .answer(
                    .addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .seconds(30))
                )
            ],
            clock: clock
        )
        let monitored = try await MonitoredClient([:]) { configuration in
            configuration.resolver.providers = [provider]
            configuration.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .off)),
                HTTPDNSRoute(try .init("one.test"), .providers(["scripted"], fallback: .off)),
            ]
            configuration.resolver.timeSource = clock
        }
        let url = "http://one.test:\(server.port)/"
        await monitored.get(url)
        clock.advance(by: .seconds(10))
        await monitored.get(url)
        await monitored.get("http://none.test/")
        let hops = monitored.monitor.records.flatMap(\.hops)
        try #require(hops.count == 3)
        #expect(hops.map(\.addresses.provider) == ["scripted", "scripted", nil])
        #expect(hops.map(\.addresses.source) == ["provider", "provider", nil])
        #expect(hops.map(\.addresses.age) == [.zero, .seconds(10), nil])
        #expect(hops.map(\.addresses.timeLeft) == [.seconds(30), .seconds(20), nil])
        #expect(hops.map(\.route) == ["one.test", "one.test", "*.test"])
        #expect(hops.allSatisfy { $0.addresses.mapping == nil && !$0.addresses.isStale })
        #expect(hops[2].failure?.phase == "resolve" && hops[2].addresses.candidates == [])
        try await monitored.client.shutdown()
    }

    @Test("A reused connection has no phases of connecting, and a new one has")
    func reused() async throws {
        let server = try RawServer(.serve("hello"))
        let monitored = try await MonitoredClient(["one.test": server.port])
        for _ in 0..<2 { await monitored.get("http://one.test/") }
        let hops = monitored.monitor.records.flatMap(\.hops)
        #expect(hops.map(\.reusedConnection) == [false, true])
        #expect(hops.map { $0.phases.connect == nil } == [false, true])
        #expect(hops.allSatisfy { $0.phases.tls == nil && $0.phases.firstByte != nil && $0.phases.total != nil })
        try await monitored.client.shutdown()
    }

    @Test(
        "The hops of an HTTPS connection have its TLS version and cipher suite",
        .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
    )
    func tls() async throws {
        let rig = try await ServerRig.shared()
        let server = try await NginxOrigin(
            rig,
            tlsDirectives: "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;"
        )
        let monitored = try await MonitoredClient(["one.test": server.port]) { configuration in
            configuration.trust.roots = .file(rig.certificateAuthorityFile)
        }
        for _ in 0..<2 { await monitored.get("https://one.test/") }
        let hops = monitored.monitor.records.flatMap(\.hops)
        let expected = Monitor.TLSParameters(version: "TLSv1.2", cipherSuite: "ECDHE-ECDSA-AES256-GCM-SHA384")
        #expect(hops.map(\.tls) == [expected, expected] && hops.map(\.reusedConnection) == [false, true])
        let facts = try ArchiveFacts.all(of: monitored.monitor.records)
        #expect(facts.first?.tls == "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384")
        try await monitored.client.shutdown()
    }

    @Test("A failed call has its error, and a canceled one has none")
    func failures() async throws {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let silent = try RawServer(.readHead, .hang)
        let monitored = try await MonitoredClient(["one.test": gone.port, "two.test": silent.port])
        await monitored.get("http://one.test/")
        let call = Task { await monitored.get("http://two.test/") }
        try await silent.awaitConnections { $0.first?.text.hasSuffix("\r\n\r\n") ?? false }
        call.cancel()
        _ = await call.value
        let records = monitored.monitor.records
        try #require(records.map(\.outcome) == ["failed", "canceled"])
        try #require(records.allSatisfy { $0.hops.count == 1 })
        #expect(records[0].failure?.code == "connect-failed" && records[0].hops[0].failure?.phase == "connect")
        #expect(records[0].hops[0].addresses.candidates == ["127.0.0.1:\(gone.port)"])
        #expect(records[1].failure == nil && records[1].hops[0].addresses.source == "mapping")
        try await monitored.client.shutdown()
    }

    @Test("A record is the same after it was written as JSON and read")
    func json() async throws {
        let server = try RawServer(.serve("{\"a\": 1}", fields: "Content-Type: application/json\r\n"))
        let settings = Monitor.Settings.with { $0.responseBodyLimit = .kibibytes(1) }
        let monitored = try await MonitoredClient(["one.test": server.port], settings)
        await monitored.get("http://one.test/a?b=c")
        let record = try #require(monitored.monitor.records.first)
        #expect(record.responseBody?.text == "{\"a\": 1}")
        #expect(try RecordJSON.record(RecordJSON.bytes(record)) == record)
        #expect("\(record)".hasPrefix("GET http://one.test/a?b=c: finished 200 in "))
        try await monitored.client.shutdown()
    }

    /// A line of a store as it was before `isMerged` was added.
    private static let earlierLine = #"""
        {"bodyBytes":5,"callID":1,"duration":12.5,"hops":[{"addresses":{"attempts":[],"candidates":["127.0.0.1:80"],\#
        "endpoint":"127.0.0.1:80","isStale":false,"source":"mapping"},"bytes":{"requestHead":60,"responseBody":5},\#
        "duration":10,"isAnsweredInProcess":false,"isHedged":false,"method":"GET","number":0,"offset":0.5,\#
        "phases":{"firstByte":3},"reason":"OK","requestFields":[{"name":"accept","value":"*/*"}],"responseFields":[],\#
        "reusedConnection":true,"route":"none","status":200,"url":"http://one.test/a","version":"HTTP/1.1"}],\#
        "isBodyComplete":true,"method":"GET","outcome":"finished","redirects":0,"retries":0,"startTime":1760000000000,\#
        "status":200,"timeToHead":10,"url":"http://one.test/a"}
        """#

    @Test("A line of an earlier version is read, and a Boolean that it lacks is false")
    func earlierJSON() throws {
        let record = try RecordJSON.record(Self.earlierLine.utf8)
        let hop = try #require(record.hops.first)
        #expect(!hop.isMerged && hop.reusedConnection && hop.cacheSource == nil)
        #expect(
            hop.offset == .microseconds(500) && hop.duration == .milliseconds(10) && hop.requestFields[.accept] == "*/*"
        )
        #expect(hop.addresses.source == "mapping" && hop.phases.firstByte == .milliseconds(3) && hop.status == 200)
        #expect(try RecordJSON.record(RecordJSON.bytes(record)) == record)
    }

    /// The floor is the delay until the next address is tried, and the ceiling the connect limit.
    @Test("The record of a call past a silent address keeps the time of the race")
    func race() async throws {
        let hole = try BlackHole()
        let server = try RawServer(.serve("a"))
        let monitored = try await MonitoredClient([:]) { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses([
                .init(stringLiteral: "\(hole.address):\(hole.port)"), .init(stringLiteral: "127.0.0.1:\(server.port)"),
            ])
        }
        #expect(await monitored.get("http://one.test/") == Array("a".utf8))
        let hop = try #require(monitored.monitor.records.first?.hops.first)
        let race = try #require(hop.phases.race)
        #expect(race >= .milliseconds(250) && race < .seconds(60))
        #expect(try #require(hop.phases.total) >= race)
        #expect(try #require(monitored.monitor.records.first).timelines[0][.race] == race)
        try await monitored.client.shutdown()
        withExtendedLifetime(hole) {}
    }
}
