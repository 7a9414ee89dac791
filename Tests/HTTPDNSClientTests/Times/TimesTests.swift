import HTTPDNS
import HTTPDNSClient
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// What the acceptance list says in seconds. That things come in the right order, and for the right cause, other suites show,
/// beside thousands of tests; here nothing else runs, and each bound is the one of its row, or is said to be wider. The figures are
/// printed.
@Suite(
    "Times",
    .serialized,
    .enabled("needs the machine for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasMachineForItself },
    .enabled(if: ServerRig.isAvailable([.nginx])),
    .timeLimit(.minutes(10))
)
struct TimesTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func goodServer(_ address: String = "127.0.0.2") throws -> RawServer {
        try RawServer(address: address, .repeatForever([.readHead, .sendText(Self.ok)]))
    }

    private func configuration(_ targets: [String]) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try MappingKey("*.test"): .addresses(targets)]
        configuration.timeouts.connect = .seconds(60)
        return configuration
    }

    /// Sends a request and reads its answer.
    /// - Returns: How long that took.
    private func time(
        _ client: HTTPDNSClient,
        _ method: HTTPRequest.Method = .get,
        _ url: String = "http://one.test/",
        from endpoint: Endpoint
    ) async throws -> Duration {
        let start = ContinuousClock.now
        let response = try await client.execute(ClientRequest(method: method, url: url))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        let time = ContinuousClock.now - start
        #expect(response.status == .ok && response.exchanges.last?.remote == endpoint)
        return time
    }

    private func report(_ what: String, _ times: Duration..., limit: Duration? = nil) {
        let figures = times.map { "\(Double(Int64($0 / .microseconds(1))) / 1000) ms" }.joined(separator: ", ")
        print("times: \(what): \(figures)\(limit.map { " (bound \(Int64($0 / .milliseconds(1))) ms)" } ?? "")")
    }

    @Test("rows 114, 115: a black hole first, cold: a POST within 400 ms, and none of the next 1,000 pays a stagger")
    func blackHoleFirst() async throws {
        let (hole, good) = (try BlackHole(), try goodServer())
        let client = try await HTTPDNSClient(
            configuration: configuration(["\(hole.address):\(hole.port)", "\(good.address):\(good.port)"])
        )
        let endpoint = Endpoint(address: IPAddress(v4: 127, 0, 0, 2), port: good.port)
        let first = try await time(client, .post, from: endpoint)
        var next: [Duration] = []
        for _ in 0..<1_000 { next.append(try await time(client, .post, from: endpoint)) }
        try await client.shutdown()
        next.sort()
        report("row 114, POST past a black hole", first, limit: .milliseconds(400))
        report("row 115, the next 1,000, half of them and all", next[500], next[999], limit: .milliseconds(250))
        #expect(first < .milliseconds(400))
        #expect(next[999] < .milliseconds(250))
        withExtendedLifetime(hole) {}
    }

    @Test("row 23: ::1 is a black hole and comes first: an answer from IPv4 within 0.6 s")
    func families() async throws {
        let (hole, good) = (try BlackHole(address: "::1"), try goodServer())
        let client = try await HTTPDNSClient(
            configuration: configuration(["[::1]:\(hole.port)", "\(good.address):\(good.port)"])
        )
        let first = try await time(client, from: Endpoint(address: IPAddress(v4: 127, 0, 0, 2), port: good.port))
        try await client.shutdown()
        report("row 23, ::1 a black hole", first, limit: .milliseconds(600))
        #expect(first < .milliseconds(600))
        withExtendedLifetime(hole) {}
    }

    @Test(
        "row 21: the first address refuses, drops, or drops and nothing is tried beside it: within 1.5 x the connect limit",
        arguments: [(false, .milliseconds(250)), (true, .milliseconds(250)), (true, .seconds(60))] as [(Bool, Duration)]
    )
    func connectLimit(isSilent: Bool, attemptDelay: Duration) async throws {
        let limit = Duration.seconds(1)
        let (hole, refusing, good) = (try BlackHole(), try RawServer(.hang), try goodServer())
        try await refusing.refuse()
        let bad = isSilent ? "\(hole.address):\(hole.port)" : "\(refusing.address):\(refusing.port)"
        var configuration = try configuration([bad, "\(good.address):\(good.port)"])
        configuration.timeouts.connect = limit
        configuration.connections.attemptDelay = attemptDelay
        let client = try await HTTPDNSClient(configuration: configuration)
        let first = try await time(client, from: Endpoint(address: IPAddress(v4: 127, 0, 0, 2), port: good.port))
        try await client.shutdown()
        let what = isSilent ? "drops, the next one after \(attemptDelay)" : "refuses"
        report("row 21, the first address \(what)", first, limit: limit * 1.5)
        #expect(first < limit * 1.5)
        withExtendedLifetime(hole) {}
    }

    @Test(
        "row 128: packets dropped after 50 warm requests: each of the next 20 GETs within a second, over HTTP/1.1 and 2"
    )
    func warmBlackHole() async throws {
        let rig = try await ServerRig.shared()
        for (version, url) in [
            (HTTPVersion.http11, "https://one.test:\(rig.http1Port)/health"),
            (.http2, "https://one.test:\(rig.tlsPort)/health"),
        ] {
            let port = version == .http2 ? rig.tlsPort : rig.http1Port
            let relay = try TCPRelay(to: "127.0.0.2", port: port)
            var configuration = try configuration(["\(relay.address):\(relay.port)", "127.0.0.3"])
            configuration.trustRoots = .file(rig.certificateAuthorityFile)
            let client = try await HTTPDNSClient(configuration: configuration)
            let old = Endpoint(address: IPAddress(v4: 127, 0, 0, 1), port: relay.port)
            for _ in 0..<50 { _ = try await time(client, .get, url, from: old) }
            #expect(try await client.get(url).version == version)
            relay.swallow()
            var times: [Duration] = []
            for _ in 0..<20 {
                let good = Endpoint(address: IPAddress(v4: 127, 0, 0, 3), port: port)
                times.append(try await time(client, .get, url, from: good))
            }
            try await client.shutdown()
            let others = try #require(times.dropFirst().max())
            report("row 128, \(version), the first GET and the slowest other", times[0], others, limit: .seconds(1))
            #expect(times.allSatisfy { $0 < .seconds(1) })
        }
    }

    @Test(
        "row 27: a stall in each phase: the limit of the phase ends it within 10 %, and so does that of the whole",
        arguments: StalledCall.stages.map { ($0, false) } + [(.firstByte, true)]
    )
    func limits(stage: HTTPDNSClientError.Stage, isTotal: Bool) async throws {
        let limit = Duration.seconds(1)
        let call = try StalledCall(in: stage)
        var configuration = try call.configuration()
        switch stage {
        case _ where isTotal: configuration.timeouts.total = limit
        case .resolve: configuration.resolver.timeLimit = limit
        case .connect: configuration.timeouts.connect = limit
        case .tls: configuration.timeouts.tls = limit
        case .firstByte: configuration.timeouts.firstByte = limit
        default: configuration.timeouts.idle = limit
        }
        let (failure, time) = try await call.failure(configuration)
        let error = try #require(failure)
        report("row 27, \(isTotal ? "total, " : "")\(stage)", time, limit: limit * 1.1)
        #expect(error.code == .timedOut && error.stage == stage && error.isCallDeadline == isTotal, "\(error)")
        #expect(error.limit == limit && time >= limit && time <= limit * 1.1, "\(error)")
    }

    @Test(
        "deadline honesty: 300 ms for the whole, and a stall in each phase: ended within 400",
        arguments: StalledCall.stages
    )
    func deadline(stage: HTTPDNSClientError.Stage) async throws {
        let (limit, bound) = (Duration.milliseconds(300), Duration.milliseconds(400))
        let call = try StalledCall(in: stage)
        var configuration = try call.configuration()
        configuration.timeouts.total = limit
        let (failure, time) = try await call.failure(configuration)
        report("deadline honesty, \(stage)", time, limit: bound)
        #expect(failure?.stage == stage && failure?.isCallDeadline == true && time >= limit && time < bound)
    }

    @Test("deadline honesty: 300 ms for each of 1,000 calls behind a limit of 4: all of them ended within 600")
    func queue() async throws {
        let limit = Duration.milliseconds(300)
        let queue = try await FullQueue(total: limit)
        let failures = await queue.failures(1_000)
        try await queue.end()
        let times = failures.map(\.time).sorted()
        report("deadline honesty, 1,000 in the queue, half of them and all", times[500], times[999], limit: limit * 2)
        #expect(failures.allSatisfy { $0.error?.stage == .queue && $0.error?.isCallDeadline == true })
        #expect(times[0] >= limit && times[999] < limit * 2)
    }
}
