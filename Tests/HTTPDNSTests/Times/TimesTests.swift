// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

/// What users wait for, in seconds. That things come in the right order, and for the right cause, other suites show,
/// beside thousands of tests; here one test runs at a time. In `make endurance` (`HTTPDNS_TEST_LONG=1`) each bound is the one of
/// its row, or is said to be wider; in `make test` it is ten times as wide. The figures are printed.
@Suite(
    "Times",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself },
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct TimesTests {
    /// The factor of all bounds.
    private static let width = ServerRig.hasTime ? 1 : 10

    private func goodServer(_ address: String = "127.0.0.2") throws -> RawServer {
        try RawServer(address: address, .serve("ok"))
    }

    private func configuration(_ targets: [String]) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("*.test"): .addresses(targets)]
        configuration.timeouts.connect = .seconds(60)
        return configuration
    }

    /// Sends a request and reads its answer.
    /// - Returns: How long that took.
    private func time(
        _ client: HTTPDNSClient,
        _ method: HTTPRequest.Method = .get,
        _ url: String = "http://one.test/",
        from endpoint: HTTPDNSEndpoint
    ) async throws -> Duration {
        let start = ContinuousClock.now
        let response = try await client.execute(HTTPDNSClient.Request(method: method, url: url))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        let time = ContinuousClock.now - start
        #expect(response.status == .ok && response.exchanges.last?.remote == endpoint)
        return time
    }

    private func report(_ what: String, _ times: Duration..., limit: Duration? = nil) {
        let figures = times.map { "\(Double(Int64($0 / .microseconds(1))) / 1000) ms" }.joined(separator: ", ")
        print("times: \(what): \(figures)\(limit.map { " (bound \(Int64($0 / .milliseconds(1))) ms)" } ?? "")")
    }

    /// None of the next 1,000 pays a stagger.
    @Test("A cold POST past a black-holed first address takes at most 400 ms")
    func blackHoleFirst() async throws {
        let (hole, good) = (try BlackHole(), try goodServer())
        let client = try await HTTPDNSClient(
            configuration: configuration(["\(hole.address):\(hole.port)", "\(good.address):\(good.port)"])
        )
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: good.port)
        let first = try await time(client, .post, from: endpoint)
        var next: [Duration] = []
        for _ in 0..<1_000 { next.append(try await time(client, .post, from: endpoint)) }
        try await client.shutdown()
        next.sort()
        let (bound, delay) = (Duration.milliseconds(400) * Self.width, Duration.milliseconds(250) * Self.width)
        report("POST past a black hole", first, limit: bound)
        report("the next 1,000, half of them and all", next[500], next[999], limit: delay)
        // In none of the bounds does half of them have a delay each.
        #expect(first < bound && next[500] < .milliseconds(25) && next[999] < delay)
        withExtendedLifetime(hole) {}
    }

    /// The first address is `::1`.
    @Test("IPv4 answers within 0.6 s when a black-holed IPv6 address goes first")
    func families() async throws {
        let (hole, good) = (try BlackHole(address: "::1"), try goodServer())
        let client = try await HTTPDNSClient(
            configuration: configuration(["[::1]:\(hole.port)", "\(good.address):\(good.port)"])
        )
        let first = try await time(
            client,
            from: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: good.port)
        )
        try await client.shutdown()
        let bound = Duration.milliseconds(600) * Self.width
        report("::1 a black hole", first, limit: bound)
        #expect(first < bound)
        withExtendedLifetime(hole) {}
    }

    /// It refuses, drops, or drops and nothing is tried beside it.
    @Test(
        "A bad first address costs at most 1.5 times the connect limit",
        arguments: [(false, .milliseconds(250)), (true, .milliseconds(250)), (true, .seconds(60))] as [(Bool, Duration)]
    )
    func connectLimit(isSilent: Bool, happyEyeballsDelay: Duration) async throws {
        let limit = Duration.seconds(1)
        let (hole, refusing, good) = (try BlackHole(), try RawServer(.hang), try goodServer())
        try await refusing.refuse()
        let bad = isSilent ? "\(hole.address):\(hole.port)" : "\(refusing.address):\(refusing.port)"
        var configuration = try configuration([bad, "\(good.address):\(good.port)"])
        configuration.timeouts.connect = limit
        configuration.connections.happyEyeballsDelay = happyEyeballsDelay
        let client = try await HTTPDNSClient(configuration: configuration)
        let first = try await time(
            client,
            from: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: good.port)
        )
        try await client.shutdown()
        let what = isSilent ? "drops, the next one after \(happyEyeballsDelay)" : "refuses"
        let bound = limit * 1.5 * Self.width
        report("the first address \(what)", first, limit: bound)
        #expect(first < bound)
        withExtendedLifetime(hole) {}
    }

    /// Packets are dropped after 50 warm requests. 20 GETs, over HTTP/1.1 and HTTP/2.
    @Test("Each GET after a warm path went dead takes at most a second")
    func warmBlackHole() async throws {
        let rig = try await ServerRig.shared()
        for (version, url) in [
            (HTTPDNSClient.HTTPVersion.http11, "https://one.test:\(rig.http1Port)/health"),
            (.http2, "https://one.test:\(rig.tlsPort)/health"),
        ] {
            let port = version == .http2 ? rig.tlsPort : rig.http1Port
            let relay = try TCPRelay(to: "127.0.0.2", port: port)
            var configuration = try configuration(["\(relay.address):\(relay.port)", "127.0.0.3"])
            configuration.trustRoots = .file(rig.certificateAuthorityFile)
            let client = try await HTTPDNSClient(configuration: configuration)
            let old = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: relay.port)
            for _ in 0..<50 { _ = try await time(client, .get, url, from: old) }
            #expect(try await client.get(url).version == version)
            relay.swallow()
            var times: [Duration] = []
            for _ in 0..<20 {
                let good = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: port)
                times.append(try await time(client, .get, url, from: good))
            }
            try await client.shutdown()
            let others = try #require(times.dropFirst().max())
            let bound = Duration.seconds(1) * Self.width
            report("\(version), the first GET and the slowest other", times[0], others, limit: bound)
            #expect(times.allSatisfy { $0 < bound })
        }
    }

    /// The test stalls a call in each phase.
    @Test(
        "A stall ends within 10 % of its phase's limit, or of the limit of the whole",
        arguments: StalledCall.phases.map { ($0, false) } + [(.firstByte, true)]
    )
    func limits(phase: HTTPDNSClientError.Phase, isTotal: Bool) async throws {
        let limit = Duration.seconds(1)
        let call = try StalledCall(in: phase)
        var configuration = try call.configuration()
        switch phase {
        case _ where isTotal: configuration.timeouts.total = limit
        case .resolve: configuration.resolver.timeLimit = limit
        case .connect: configuration.timeouts.connect = limit
        case .tls: configuration.timeouts.tls = limit
        case .firstByte: configuration.timeouts.firstByte = limit
        default: configuration.timeouts.idle = limit
        }
        let (failure, time) = try await call.failure(configuration)
        let error = try #require(failure)
        let bound = limit + limit / 10 * Self.width
        report("\(isTotal ? "total, " : "")\(phase)", time, limit: bound)
        #expect(error.code == .timedOut && error.phase == phase && error.isCallDeadline == isTotal, "\(error)")
        #expect(error.limit == limit && time >= limit && time <= bound, "\(error)")
    }

    @Test("A deadline of 300 ms ends a stall in each phase within 400 ms", arguments: StalledCall.phases)
    func deadline(phase: HTTPDNSClientError.Phase) async throws {
        let limit = Duration.milliseconds(300)
        let bound = limit + .milliseconds(100) * Self.width
        let call = try StalledCall(in: phase)
        var configuration = try call.configuration()
        configuration.timeouts.total = limit
        let (failure, time) = try await call.failure(configuration)
        report("deadline honesty, \(phase)", time, limit: bound)
        #expect(failure?.phase == phase && failure?.isCallDeadline == true && time >= limit && time < bound)
    }

    /// The calls wait behind a limit of 4.
    @Test("A deadline of 300 ms ends 1,000 waiting calls within 600 ms")
    func queue() async throws {
        let limit = Duration.milliseconds(300)
        let queue = try await FullQueue(total: limit)
        let failures = await queue.failures(1_000)
        try await queue.end()
        let times = failures.map(\.time).sorted()
        let bound = limit + limit * Self.width
        report("deadline honesty, 1,000 in the queue, half of them and all", times[500], times[999], limit: bound)
        #expect(failures.allSatisfy { $0.error?.phase == .queue && $0.error?.isCallDeadline == true })
        #expect(times[0] >= limit && times[999] < bound)
    }

    @Test("A blocking call of 300 ms, to a server that is silent, ends within 400")
    func blocking() async throws {
        let limit = Duration.milliseconds(300)
        let bound = limit + .milliseconds(100) * Self.width
        let server = try RawServer(.readHead, .hang)
        let client = try await HTTPDNSClient(configuration: configuration(["\(server.address):\(server.port)"]))
        let request = HTTPDNSClient.Request(url: "http://one.test/") { $0.timeouts.total = limit }
        let thread = ThreadPool(named: "test", rest: .zero)
        let (isTimeout, time) = await withCheckedContinuation { continuation in
            thread.run {
                let start = ContinuousClock.now
                let result = Result { try client.executeAndWait(request) }
                let time = start.duration(to: .now)
                if case .failure(let error as HTTPDNSClientError) = result {
                    continuation.resume(returning: (error.code == .timedOut && error.isCallDeadline, time))
                } else {
                    continuation.resume(returning: (false, time))
                }
            }
        }
        try await client.shutdown()
        report("a blocking call", time, limit: bound)
        #expect(isTimeout && time >= limit && time < bound)
    }

    @Test(
        "503, 503, 200 is 200 after the waits of the policy or of Retry-After",
        arguments: [("", Duration.milliseconds(300)), ("Retry-After: 1\r\n", .milliseconds(2_200))]
    )
    func retries(field: String, waits: Duration) async throws {
        let busy = RawServer.Step.respond(status: "503 Service Unavailable", fields: field)
        let server = try RawServer(.readHead, busy, .readHead, busy, .readHead, .respond("ok"))
        var configuration = try configuration(["\(server.address):\(server.port)"])
        configuration.retries = .standard
        configuration.retries.delay = .milliseconds(100)
        // The upper end of the jitter: 100 and 200 ms, or 100 ms besides each Retry-After.
        configuration.random = { 1 }
        let client = try await HTTPDNSClient(configuration: configuration)
        let start = ContinuousClock.now
        let response = try await client.get("http://one.test/")
        let time = start.duration(to: .now)
        try await client.shutdown()
        let bound = waits + .milliseconds(200) * Self.width
        report("two retries\(field.isEmpty ? "" : " with Retry-After")", time, limit: bound)
        #expect(response.exchanges.map(\.status.code) == [503, 503, 200])
        #expect(time >= waits && time < bound)
    }
}
