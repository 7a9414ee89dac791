// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Bodies at a limited rate, in real time. With 128 KiB a second, 192 KiB take 1.5 s.
struct BandwidthTests {
    private static let size = 192 * 1024
    private static let rate = HTTPDNSByteCount.kibibytes(128)
    private static let floor = Duration.milliseconds(1400)
    /// Ten times the floor: other suites keep the machine busy.
    private static let ceiling = Duration.seconds(14)

    private func settings(_ bandwidth: HTTPDNSClient.Bandwidth = .init()) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1"])
        configuration.makePatient()
        configuration.bandwidth = bandwidth
        return configuration
    }

    private func server(bytes: Int) throws -> RawServer {
        try RawServer(.serve(String(repeating: "x", count: bytes)))
    }

    private func expectLimited(_ body: () async throws -> Void) async throws {
        let clock = ContinuousClock()
        let elapsed = try await clock.measure { try await body() }
        #expect(elapsed >= Self.floor && elapsed < Self.ceiling, "\(elapsed)")
    }

    @Test("A client's rate holds for one response, and for eight together", arguments: [1, 8])
    func client(count: Int) async throws {
        let server = try server(bytes: Self.size / count)
        try await withClient(settings(HTTPDNSClient.Bandwidth(receiving: Self.rate))) { client in
            try await expectLimited {
                try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for _ in 0..<count {
                        tasks.addTask {
                            try await client.get("http://one.test:\(server.port)/").body.collect(upTo: .mebibytes(1))
                                .count
                        }
                    }
                    var total = 0
                    for try await bytes in tasks { total += bytes }
                    #expect(total == Self.size)
                }
            }
        }
    }

    @Test("A request's rate holds for each of eight responses")
    func request() async throws {
        let server = try server(bytes: Self.size)
        let sent = HTTPDNSClient.Request(url: "http://one.test:\(server.port)/") { $0.bandwidth.receiving = Self.rate }
        try await withClient(settings()) { client in
            try await expectLimited {
                try await withThrowingTaskGroup(of: HTTPDNSClient.Response.BodySummary?.self) { tasks in
                    for _ in 0..<8 {
                        tasks.addTask {
                            let response = try await client.execute(sent)
                            #expect(try await response.body.collect(upTo: .mebibytes(1)).count == Self.size)
                            return response.body.summary
                        }
                    }
                    for try await summary in tasks {
                        #expect(summary?.wireBytes == Self.size && summary?.bytesPerSecond ?? 0 > 0)
                    }
                }
            }
        }
    }

    @Test("A limit of one direction leaves the other one alone")
    func otherDirection() async throws {
        let server = try server(bytes: Self.size)
        // At this rate the response would take an hour.
        try await withClient(settings(HTTPDNSClient.Bandwidth(sending: .bytes(50)))) { client in
            let elapsed = try await ContinuousClock().measure {
                let response = try await client.get("http://one.test:\(server.port)/")
                #expect(try await response.body.collect(upTo: .mebibytes(1)).count == Self.size)
            }
            #expect(elapsed < Self.ceiling)
        }
    }

    /// The limit of a body in memory, and of a stream; the client's and the request's.
    @Test("A request body is sent at its rate", arguments: [false, true], [false, true])
    func upload(isStream: Bool, ofClient: Bool) async throws {
        let server = try RawServer(.readHead, .read(Self.size), .respond("ok"))
        let bytes = [UInt8](repeating: 7, count: Self.size)
        let limit = HTTPDNSClient.Bandwidth(sending: Self.rate)
        let sent = HTTPDNSClient.Request(
            method: .post,
            url: "http://one.test:\(server.port)/",
            body: isStream ? .stream(length: Int64(Self.size), Chunks([bytes])) : .bytes(bytes)
        ) { if !ofClient { $0.bandwidth = limit } }
        try await withClient(settings(ofClient ? limit : .init())) { client in
            try await expectLimited {
                let response = try await client.execute(sent)
                #expect(response.status == .ok)
            }
        }
        #expect(server.connections[0].received.suffix(Self.size).allSatisfy { $0 == 7 })
        #expect(server.connections[0].text.contains("\r\nContent-Length: \(Self.size)\r\n"))
    }

    @Test("A limited body ends with its call's deadline, and with its task", arguments: [false, true])
    func ended(isCanceled: Bool) async throws {
        let server = try server(bytes: Self.size)
        let sent = HTTPDNSClient.Request(url: "http://one.test:\(server.port)/") {
            $0.bandwidth.receiving = .kibibytes(1)
            $0.timeouts.total = isCanceled ? nil : .seconds(1)
            $0.timeouts.responseHead = nil
        }
        try await withClient(settings()) { client in
            let begun = Gate()
            let task = Task {
                let body = try await client.execute(sent).body.reportingProgress { if $0.bytes > 0 { begun.open() } }
                return try await body.collect(upTo: .mebibytes(1))
            }
            let elapsed = try await ContinuousClock().measure {
                if isCanceled {
                    await begun.passage()
                    task.cancel()
                    await #expect(throws: CancellationError.self) { _ = try await task.value }
                } else {
                    let error = try await refusal { _ = try await task.value }
                    #expect(error.code == .timedOut)
                }
            }
            #expect(elapsed < Self.ceiling)
        }
    }

    /// Its stream ends at the same moment as the transfer, whose limit is the reason.
    @Test("A limited request body that cannot end in time is a time limit", arguments: [false, true])
    func uploadOverdue(ofClient: Bool) async throws {
        let server = try RawServer(.repeatForever([.readHead, .hang]))
        let slow = HTTPDNSClient.Bandwidth(sending: .bytes(100))
        try await withClient(settings(ofClient ? slow : .init())) { client in
            await withTaskGroup(of: HTTPDNSClientError.Code?.self) { tasks in
                for number in 0..<20 {
                    var request = HTTPDNSClient.Request(method: .post, url: "http://one.test:\(server.port)/")
                    request.body = .bytes([UInt8](repeating: 7, count: 1000))
                    request.changeOptions {
                        $0.timeouts.total = .milliseconds(100 + 10 * number)
                        if !ofClient { $0.bandwidth = slow }
                    }
                    tasks.addTask { [request] in
                        do {
                            _ = try await client.execute(request)
                            return nil
                        } catch {
                            return (error as? HTTPDNSClientError)?.code
                        }
                    }
                }
                for await code in tasks { #expect(code == .timedOut) }
            }
        }
    }

    @Test("A rate of zero is refused")
    func zero() async throws {
        var configuration = try settings()
        configuration.bandwidth.sending = .bytes(0)
        let refused = configuration
        #expect(try await refusal { _ = try await HTTPDNSClient(configuration: refused) }.code == .configuration)
        try await withClient(settings()) { client in
            let error = try await refusal {
                _ = try await client.get("http://one.test/") { $0.bandwidth.receiving = .bytes(0) }
            }
            #expect(error.code == .invalidRequest)
        }
    }
}
