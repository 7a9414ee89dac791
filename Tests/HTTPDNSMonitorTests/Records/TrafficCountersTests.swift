// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNSMonitor
import HTTPDNSResponseCache
import ServerRig
import Testing

@testable import HTTPDNS

struct TrafficCountersTests {
    @Test("Error rates of hosts and routes are exact")
    func errorRates() async throws {
        // The third response in turn has an error of the server, the second one of the client.
        let mixed = try RawServer(
            .repeatForever([
                .readHead, .respond("a"), .readHead, .respond("b", status: "404 Not Found"),
                .readHead, .respond("c", status: "503 Service Unavailable"), .readHead, .respond("d"),
            ])
        )
        let short = try RawServer { _ in [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")] }
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let hosts = ["one.shop.test": mixed.port, "two.shop.test": gone.port, "three.test": short.port]
        let monitored = try await MonitoredClient(hosts) { configuration in
            configuration.resolver.routes = [HTTPDNSRoute(try .init("*.shop.test"), .system)]
        }
        for _ in 0..<40 { await monitored.get("http://one.shop.test/") }
        for _ in 0..<10 { await monitored.get("http://two.shop.test/") }
        for _ in 0..<5 { #expect(await monitored.get("http://three.test/") == nil) }
        let counters = monitored.monitor.counters
        let one = try #require(counters.hosts["one.shop.test"])
        #expect(one.requests == 40 && one.clientErrors == 10 && one.serverErrors == 10 && one.failed == 0)
        #expect(one.httpErrorRate == 0.5 && one.failureRate == 0)
        let two = try #require(counters.hosts["two.shop.test"])
        #expect(two.requests == 10 && two.failed == 10 && two.failureRate == 1 && two.httpErrorRate == 0)
        let three = try #require(counters.hosts["three.test"])
        #expect(three.requests == 5 && three.failed == 5 && three.canceled == 0)
        let route = try #require(counters.routes["*.shop.test"])
        #expect(route.requests == 50 && route.failureRate == 0.2 && route.httpErrorRate == 0.4)
        #expect(counters.routes["none"]?.requests == 5 && counters.traffic.requests == 55)
        #expect(counters.calls.failed == 15 && counters.calls.finished == 40)
        try await monitored.client.shutdown()
    }

    @Test("Counters have a bounded number of hosts, and the others are counted together")
    func cardinality() async throws {
        let server = try RawServer(.serve("a"))
        let names = (0..<20).map { "h\($0).test" }
        let hosts = Dictionary(uniqueKeysWithValues: names.map { ($0, server.port) })
        let monitored = try await MonitoredClient(hosts, .with { $0.maximumHosts = 4 })
        for name in names + names { await monitored.get("http://\(name)/") }
        let counters = monitored.monitor.counters
        #expect(Set(counters.hosts.keys) == ["h0.test", "h1.test", "h2.test", "h3.test", Monitor.Counters.others])
        #expect(counters.hosts["h0.test"]?.requests == 2 && counters.hosts[Monitor.Counters.others]?.requests == 32)
        #expect(counters.traffic.requests == 40)
        try await monitored.client.shutdown()
    }
}

@Suite(
    "The traffic monitor beside nginx's log",
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct MonitorOverTheWireTests {
    @Test("The bytes of 1,000 requests are those of nginx's log")
    func bytes() async throws {
        let rig = try await ServerRig.shared()
        let host = "monitor-bytes.wild.test"
        let monitored = try await MonitoredClient([:], .with { $0.maximumRecords = 1000 }) { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key(host)] = .addresses(["127.0.0.2"])
        }
        let mark = rig.accessLogMark()
        let origin = "http://\(host):\(rig.httpPort)"
        let texts = ["/health", "/empty", "/gzip/text.txt", "/status/503", "/redirect/307?to=\(origin)/health"]
        for number in 0..<800 {
            var request = HTTPDNSClient.Request(url: origin + texts[number % texts.count])
            request.headerFields[.accept] = String(repeating: "a", count: number % 50)
            await monitored.call(request)
        }
        for number in 0..<40 {
            let body = HTTPDNSClient.Request.Body.bytes(Array(repeating: 7, count: number * 100))
            await monitored.call(HTTPDNSClient.Request(method: .post, url: "\(origin)/upload", body: body))
        }
        let count = 800 + 160 + 40
        let lines = try await rig.awaitAccessLog(since: mark, count: count) { $0.host.hasPrefix(host) }
        #expect(lines.count == count)
        let traffic = try #require(monitored.monitor.counters.hosts[host])
        #expect(traffic.requests == count && traffic.serverErrors == 160)
        #expect(traffic.requestHeadBytes + traffic.requestBodyBytes == Int64(lines.reduce(0) { $0 + $1.received }))
        let hops = monitored.monitor.records.flatMap(\.hops)
        let (fixed, chunked) = (
            zip(hops, lines).filter { !$0.0.responseFields.contains(.transferEncoding) },
            zip(hops, lines).filter { $0.0.responseFields.contains(.transferEncoding) }
        )
        #expect(fixed.count > 500 && chunked.count > 100)
        for (hop, line) in fixed {
            #expect(hop.status == line.status && hop.bytes.responseBody == Int64(line.bodySent))
            #expect((hop.bytes.responseHead ?? 0) + (hop.bytes.responseBody ?? 0) == Int64(line.sent))
            #expect((hop.bytes.requestHead ?? 0) + (hop.bytes.requestBody ?? 0) == Int64(line.received))
            #expect(hop.url.hasSuffix(line.target) && hop.method == line.method)
            #expect(hop.addresses.endpoint == "\(line.address):\(line.port)" && hop.addresses.source == "mapping")
        }
        for (hop, line) in chunked {
            // nginx counts the framing of chunks, and libcurl does not.
            #expect((hop.bytes.responseBody ?? 0) < Int64(line.bodySent) && hop.status == line.status)
        }
        try await monitored.client.shutdown()
    }

    /// The floor is half of the delay: libcurl notes the end of sending after the server may have begun to wait.
    @Test("A delay is in its phase alone, and only a new connection has phases of TLS")
    func phases() async throws {
        let rig = try await ServerRig.shared()
        let host = "monitor-phases.wild.test"
        let monitored = try await MonitoredClient([:]) { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key(host)] = .addresses(["127.0.0.2"])
            configuration.trustRoots = .file(rig.certificateAuthorityFile)
        }
        for path in ["/health", "/stall/1", "/health"] {
            await monitored.get("https://\(host):\(rig.tlsPort)\(path)")
        }
        let hops = monitored.monitor.records.flatMap(\.hops)
        try #require(hops.count == 3)
        #expect(hops.map { $0.phases.tls == nil } == [false, true, true])
        let slow = try #require(hops[1].phases.firstByte)
        #expect(slow >= .milliseconds(500) && slow < .seconds(300))
        #expect(hops[1].phases.connect == nil && hops[1].version == "HTTP/2")
        #expect(try #require(hops[0].phases.firstByte) < .seconds(300) && hops[0].phases.connect != nil)
        try await monitored.client.shutdown()
    }

    @Test("Hits and shared responses are recorded as such, and are no requests")
    func sources() async throws {
        let gate = Gate()
        let stored = try RawServer(.serve("a", fields: "Cache-Control: max-age=60\r\n"))
        let shared = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("b")]))
        let monitored = try await MonitoredClient(["stored.test": stored.port, "shared.test": shared.port]) {
            $0.responseCache = .memory()
            $0.mergesIdenticalReads = true
        }
        for _ in 0..<3 { await monitored.get("http://stored.test/") }
        let calls = (0..<2).map { _ in Task { await monitored.get("http://shared.test/") } }
        while monitored.client.pipeline.reads.waiterCount < calls.count - 1 { await Task.yield() }
        gate.open()
        for call in calls { #expect(await call.value == Array("b".utf8)) }
        let hops = monitored.monitor.records.flatMap(\.hops)
        #expect(hops.map(\.cacheSource).prefix(3) == ["miss", "hit", "hit"])
        #expect(hops.map(\.isMerged).suffix(2).sorted { !$0 && $1 } == [false, true])
        let counters = monitored.monitor.counters
        let (one, other) = (counters.hosts["stored.test"], counters.hosts["shared.test"])
        #expect(one?.requests == 1 && one?.answeredInProcess == 2)
        #expect(other?.requests == 1 && other?.answeredInProcess == 1)
        try await monitored.client.shutdown()
    }

    @Test("A shared response has the request of its hop, and the fields of the response")
    func sharedFields() async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("b", fields: "Server: s\r\n")]))
        let monitored = try await MonitoredClient(["shared.test": server.port]) {
            $0.mergesIdenticalReads = true
            $0.applicationInterceptors = [Around.before { $0.url = "http://shared.test/a" }]
        }
        let calls = (0..<2).map { _ in Task { await monitored.get("http://caller.test/") } }
        while monitored.client.pipeline.reads.waiterCount < calls.count - 1 { await Task.yield() }
        gate.open()
        for call in calls { #expect(await call.value == Array("b".utf8)) }
        let hops = monitored.monitor.records.flatMap(\.hops)
        try #require(hops.count == 2 && hops.count { $0.isMerged } == 1)
        #expect(hops.map(\.url) == ["http://shared.test/a", "http://shared.test/a"])
        #expect(hops.map { $0.responseFields[.server] } == ["s", "s"])
        let hosts = monitored.monitor.counters.hosts
        #expect(hosts["shared.test"]?.requests == 1 && hosts["shared.test"]?.answeredInProcess == 1)
        #expect(hosts["caller.test"] == nil)
        try await monitored.client.shutdown()
    }
}
