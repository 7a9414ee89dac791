// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct OneStepTests {
    private static let field = "X-Key"

    private func settings(_ server: RawServer, key: String) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(server.port)"])]
        configuration.headers.fields[try #require(HTTPField.Name(Self.field))] = key
        return configuration
    }

    @Test("A request that a reload overtakes goes by the new settings as a whole")
    func overtaken() async throws {
        let old = try RawServer(.serve("ok"))
        let new = try RawServer(.serve("ok"))
        let (arrived, goesOn) = (Gate(), Gate())
        let runs = Lock(0)
        var first = try settings(old, key: "old")
        first.networkInterceptors = [
            Around.before { _ in
                runs.withLock { $0 += 1 }
                arrived.open()
                await goesOn.passage()
            }
        ]
        let client = try await HTTPDNSClient(configuration: first)
        async let response = client.get("http://one.test/")
        await arrived.passage()
        var second = try settings(new, key: "new")
        second.networkInterceptors = first.networkInterceptors
        try await client.reload(second)
        goesOn.open()
        #expect(try await response.status == .ok)
        try await client.shutdown()
        #expect(old.connections.isEmpty && new.connections.count == 1 && runs.withLock { $0 } == 1)
        let text = new.connections.first?.text ?? ""
        #expect(text.contains("\(Self.field): new\r\n") && !text.contains("old"), "\(text)")
    }

    /// A provider that fails, once it may, after some answers.
    private final class Failing: HTTPDNSProvider {
        let name = "scripted"
        let asked = Gate()
        let fails = Gate()
        private let answers: Lock<Int>

        init(afterAnswers answers: Int = 0) { self.answers = Lock(answers) }

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            let answers = answers.withLock { answers in
                answers -= 1
                return answers >= 0
            }
            if answers {
                let address = HTTPDNSAddress(v4: 203, 0, 113, 1)
                return HTTPDNSProviderAnswer(
                    v4: .addresses([address], timeToLive: .seconds(10), canonicalName: nil),
                    v6: .noData(timeToLive: .seconds(10))
                )
            }
            asked.open()
            await fails.passage()
            throw HTTPDNSProviderError(code: .timedOut, message: "no answer in time")
        }
    }

    @Test("A request whose lookup fails under replaced settings goes by the new ones")
    func failedLookup() async throws {
        let provider = Failing()
        let rig = try Rig { $0.resolver.providers = [provider] }
        async let response = rig.client.get("http://one.test/")
        await provider.asked.passage()
        var settings = rig.configuration
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["203.0.113.9"])
        try await rig.client.reload(settings)
        provider.fails.open()
        #expect(try await response.exchange?.endpoint?.address == HTTPDNSAddress(v4: 203, 0, 113, 9))
    }

    /// It asks for another one, and there is one connection only.
    @Test("A request that is prepared again after a failed lookup has given its permit back")
    func permit() async throws {
        let provider = Failing(afterAnswers: 1)
        let answers = Gate()
        let wire = ScriptedWire { request, _ in
            await answers.passage()
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.resolver.providers = [provider]
            $0.resolver.cache.staleLimit = .zero
            $0.connections.maximumPerHost = 1
        }
        let calls = (0..<2).map { _ in Task { try await rig.client.get("http://one.test/").body.collect() } }
        while rig.client.requestsWaiting != 1, !Task.isCancelled { await Task.yield() }
        rig.clock.advance(by: .seconds(60))
        answers.open()
        await provider.asked.passage()
        var settings = rig.configuration
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["203.0.113.9"])
        try await rig.client.reload(settings)
        provider.fails.open()
        for call in calls { _ = try await call.value }
        #expect(wire.requests.map(\.endpoints[0].address.description) == ["203.0.113.1", "203.0.113.9"])
    }

    @Test("Under load no server sees the key of other settings than its own")
    func underLoad() async throws {
        let servers = try (0..<2).map { _ in try RawServer(.serve("ok")) }
        let both = try [settings(servers[0], key: "first"), settings(servers[1], key: "second")]
        let client = try await HTTPDNSClient(configuration: both[0])
        let workers = (0..<8).map { _ in
            Task {
                for _ in 0..<100 {
                    _ = try await client.get("http://one.test/").body.collect(upTo: .bytes(2))
                }
            }
        }
        let reloader = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                try await client.reload(both[number % 2])
            }
            return number
        }
        for worker in workers { try await worker.value }
        reloader.cancel()
        #expect(try await reloader.value > 20)
        try await client.shutdown()
        let texts = servers.map { $0.text }
        #expect(texts.allSatisfy { !$0.isEmpty })
        #expect(!texts[0].contains("\(Self.field): second") && !texts[1].contains("\(Self.field): first"))
    }
}
