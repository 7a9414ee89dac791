// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A provider that gives another address each time, as those of content networks do. In real time, see `NeverWaitingTests`.
@Suite(
    "Rotating answers",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself },
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct RotatingAnswerTests {
    /// Another one of three of the origins' addresses each time, for a second.
    private final class Rotation: HTTPDNSProvider {
        let name = "rotation"
        let answerScope = HTTPDNSAddressPolicy.Scope.loopback
        private let count = Lock(0)

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            let number = count.withLock { count in
                count += 1
                return count
            }
            let address = HTTPDNSAddress(v4: 127, 0, 0, UInt8(2 + number % 3))
            return HTTPDNSProviderAnswer(v4: .addresses([address], timeToLive: .seconds(1), canonicalName: nil))
        }

        func shutdown() async {}
    }

    /// One request as its caller saw it.
    private struct Sample: Sendable {
        var remote: HTTPDNSEndpoint?
        var elapsed: Duration
    }

    /// 200 requests a second.
    private func load(_ url: String, seconds: Int, on client: HTTPDNSClient) async throws -> [Sample] {
        let clock = SystemTimeSource()
        let start = clock.now()
        return try await withThrowingTaskGroup(of: Sample.self) { group in
            var samples: [Sample] = []
            for number in 0..<(seconds * 200) {
                try await clock.sleep(until: start + .milliseconds(5 * number))
                // A group keeps each task, with some 15 KB, until its result is asked for.
                if number >= 256, let sample = try await group.next() { samples.append(sample) }
                group.addTask {
                    let begun = clock.now()
                    let response = try await client.get(url)
                    _ = try await response.body.collect(upTo: .mebibytes(1))
                    return Sample(remote: response.exchanges.last?.remote, elapsed: clock.now() - begun)
                }
            }
            for try await sample in group { samples.append(sample) }
            return samples
        }
    }

    private func percentile99(_ samples: [Sample]) -> Duration {
        samples.map(\.elapsed).sorted()[samples.count * 99 / 100]
    }

    /// A time to live of 1 s and 200 requests a second: at most 2 handshakes a second.
    @Test("Rotating answers cause few handshakes, and fewer moves than answers")
    func rotation() async throws {
        let rig = try await ServerRig.start()
        let seconds = ServerRig.hasTime ? 120 : 9
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.resolver.providers = [Rotation()]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["rotation"], fallback: .off))]
        configuration.resolver.families = .v4
        // An address is in each third answer. With a longer time it would be held for ever.
        configuration.connections.addressStickiness = .seconds(1)
        let url = "https://img.shop.test:\(rig.tlsPort)/a.jpg"
        var steady = configuration
        steady.resolver.providers = []
        steady.resolver.routes = []
        steady.resolver.mappings = [try HTTPDNSMapping.Key("img.shop.test"): .addresses(["127.0.0.2"])]
        // What a request takes while nothing moves.
        let calm = try await withClient(steady) { client in
            _ = try await load(url, seconds: 1, on: client)
            return percentile99(try await load(url, seconds: seconds / 3, on: client))
        }
        let mark = rig.accessLogMark()
        let moving = try await withClient(configuration) { client in
            let warm = try await load(url, seconds: 2, on: client)
            let (before, memory) = try (ProcessState.now().descriptors, ProcessState.residentBytes())
            let samples = try await load(url, seconds: seconds - 2, on: client)
            #expect(warm.count + samples.count == seconds * 200)
            #expect(client.connectionCounters.keptPreviousAddress > seconds * 40)
            // One for each address that was moved to, and those of the rig's own processes.
            #expect(try ProcessState.now().descriptors <= before + 64)
            #expect(client.connectionPools.count <= 3, "a pool for each address at most: \(client.connectionPools)")
            let growth = try ProcessState.residentBytes() - memory
            print("rotating: resident memory grew by \(growth / 1024) KiB in \(seconds - 2) s")
            // The samples themselves are 24,000 times 40 bytes, and their tasks.
            #expect(growth < 16 << 20)
            return percentile99(samples)
        }
        let ratio = moving / calm
        print("rotating: p99 \(moving), steady \(calm): \(ratio) times")
        // The bound of 2 is one for a machine with nothing else to do, and for two minutes, in which chance evens out.
        #expect(!ServerRig.hasTime || ratio <= 2)
        let lines = try rig.accessLog(since: mark)
        let connections = Set(lines.map(\.connection)).count
        #expect(connections <= 2 * seconds)
        // In the order of the log: how often the address is another than before, but for requests that were under way.
        let addresses = lines.map(\.address)
        // That of most requests in each half second: at a move, requests that were under way come later than those after it.
        let perHalfSecond = stride(from: 0, to: addresses.count, by: 100).map { start in
            Dictionary(grouping: addresses[start...].prefix(100)) { $0 }.max { $0.value.count < $1.value.count }?.key
        }
        let moved = zip(perHalfSecond, perHalfSecond.dropFirst()).count { $0 != $1 }
        // An address stays for its own second and that of holding, at least; each answer for itself would move each second.
        #expect(moved <= seconds * 3 / 4, "\(perHalfSecond)")
        #expect(moved >= 1, "traffic moves in the end")
        try await rig.stop()
    }
}
