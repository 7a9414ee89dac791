// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import Testing

struct DiagnosticsTests {
    @Test("Reported answers have their source, their remaining time and their staleness")
    func answers() async throws {
        let rig = try Rig()
        _ = try await rig.client.resolve("one.test")
        _ = try? await rig.client.resolve("nowhere.test")
        rig.clock.advance(by: .seconds(10))
        let answers = rig.client.status().cache.answers
        #expect(answers.map(\.host) == ["one.test"], "a negative answer of 5 s is over")
        let one = try #require(answers.first)
        #expect(one.addresses == ["203.0.113.1"] && one.source == "provider" && one.provider == "scripted")
        #expect(one.route == "*.test" && one.families == nil)
        #expect(one.ageSeconds == 10 && one.secondsLeft == 20 && !one.isStale)
        rig.clock.advance(by: .seconds(30))
        let stale = try #require(rig.client.status().cache.answers.first)
        #expect(stale.isStale && stale.secondsLeft == -10)
        rig.clock.advance(by: .seconds(3600))
        #expect(rig.client.status().cache.answers.isEmpty, "what may not even serve as stale is not told")
    }

    @Test("The status has the capabilities of libcurl, and reads one without them")
    func libcurl() throws {
        let rig = try Rig()
        var status = rig.client.status()
        let capabilities = try #require(status.libcurlCapabilities)
        #expect(capabilities.supportsTrustSettings && capabilities.tls?.contains("/") == true)
        #expect(capabilities.http2?.hasPrefix("nghttp2/") == true && capabilities.features.contains("HTTP2"))
        #expect(capabilities.protocols.contains("https"))
        #expect(try JSONDecoder().decode(HTTPDNSClient.Status.self, from: JSONEncoder().encode(status)) == status)
        status.libcurlCapabilities = nil
        #expect(try JSONDecoder().decode(HTTPDNSClient.Status.self, from: JSONEncoder().encode(status)) == status)
    }

    @Test("A name that does not exist and one that failed are reported as such")
    func failures() async throws {
        let rig = try Rig()
        _ = try? await rig.client.resolve("nowhere.test")
        rig.provider.answer(
            .failure(HTTPDNSProviderError(code: .serverFailure, message: "no")),
            for: try HTTPDNSName("sick.test")
        )
        _ = try? await rig.client.resolve("sick.test")
        let answers = rig.client.status().cache.answers
        #expect(answers.map(\.host) == ["nowhere.test", "sick.test"])
        #expect(answers.first?.negative == "name-not-found" && answers.first?.addresses == [])
        #expect(answers.last?.failure == "providers-failed" && (answers.last?.retryInSeconds ?? 0) > 0)
    }

    /// A flag says that there are more.
    @Test("No more answers and mappings are reported than asked for")
    func bounded() async throws {
        let rig = try Rig { configuration in
            for number in 0..<20 {
                configuration.resolver.mappings[try HTTPDNSMapping.Key("m\(number).test")] = .addresses(["203.0.113.9"])
            }
        }
        for number in 0..<20 {
            let addresses = [HTTPDNSAddress(v4: 203, 0, 113, 1)]
            let host = try HTTPDNSName("n\(number).test")
            rig.provider.answer(.answer(.addresses(addresses, timeToLive: .seconds(60))), for: host)
            _ = try await rig.client.resolve("n\(number).test")
        }
        let few = rig.client.status(limit: 5)
        #expect(few.cache.answers.count == 5 && few.cache.isTruncated && few.cache.entries == 20)
        #expect(few.mappings.rules.count == 5 && few.mappings.isTruncated && few.mappings.count == 21)
        let all = rig.client.status(limit: 21)
        #expect(all.cache.answers.count == 20 && !all.cache.isTruncated)
        #expect(all.mappings.rules.count == 21 && !all.mappings.isTruncated)
        #expect(rig.client.status(limit: -1).cache.answers.isEmpty)
        let some = rig.client.status(names: [
            try HTTPDNSRoute.Pattern("n7.test"), try HTTPDNSRoute.Pattern("m7.test"),
        ])
        #expect(some.cache.answers.map(\.host) == ["n7.test"] && some.mappings.rules.map(\.key) == ["m7.test"])
        #expect(!some.cache.isTruncated && !some.mappings.isTruncated)
    }

    @Test("Diagnostics neither keep a cached name alive nor ask a provider")
    func quiet() async throws {
        let rig = try Rig()
        _ = try await rig.client.resolve("one.test")
        let before = rig.client.resolver.counters
        rig.clock.advance(by: .seconds(29))
        for _ in 0..<10 { _ = rig.client.status() }
        #expect(rig.client.resolver.counters == before)
        #expect(rig.provider.queries.count == 1)
    }

    @Test("Reported mappings have their origin, the file or the program")
    func mappings() throws {
        let rig = try Rig()
        try rig.client.mappings.apply { $0["new.test"] = .weighted(["203.0.113.8": 95, "203.0.113.9:81": 5]) }
        let mappings = rig.client.status().mappings
        #expect(mappings.rules.map(\.key) == ["map.test", "new.test"])
        #expect(mappings.rules.map(\.origin) == ["base", "overlay"])
        #expect(mappings.rules.last?.targets == ["203.0.113.8 weight 95", "203.0.113.9:81 weight 5"])
        #expect(mappings.overlayGeneration == 1 && mappings.generation == 2)
        try rig.client.mappings.apply { $0["new.test"] = .weighted(["203.0.113.8": 5, "203.0.113.9": 5]) }
        let even = rig.client.status().mappings.rules.last?.targets
        #expect(even == ["203.0.113.8 weight 5", "203.0.113.9 weight 5"])
    }

    /// The quarantine's remaining time; the switch's origin, what is off, and since when.
    @Test("Diagnostics give the reason and time of a quarantine and of a switch")
    func providersAndSwitch() async throws {
        let rig = try Rig()
        let error = HTTPDNSProviderError(code: .unreachable, message: "connection refused")
        rig.provider.answer(.failure(error), for: try HTTPDNSName("sick.test"))
        _ = try? await rig.client.resolve("sick.test")
        rig.client.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.test")), by: .socket)
        rig.clock.advance(by: .milliseconds(500))
        let diagnostics = rig.client.status()
        let provider = try #require(diagnostics.providers.first)
        #expect(provider.state == "quarantined" && provider.reason == "connection refused")
        #expect((0.4...0.7).contains(provider.backOffSeconds ?? 0))
        #expect(provider.failuresByCode == ["unreachable": 1] && provider.failures == 1)
        let off = try #require(diagnostics.killSwitch.entries.first)
        #expect(diagnostics.killSwitch.isOn && off.route == "*.test" && off.origin == "socket" && off.seconds == 0.5)
        #expect(rig.client.resolver.status.quarantined == ["scripted": true])
        #expect(rig.client.resolver.status.routesSwitchedOff == 1 && !rig.client.resolver.status.isSwitchedOff)
    }

    @Test("Reported routes and limits are those in force, also after a reload")
    func reload() async throws {
        var settings = HTTPDNSClient.Configuration()
        let rig = try Rig { configuration in settings = configuration }
        #expect(rig.client.status().limits.connectSeconds == 5)
        settings.timeouts.connect = .seconds(2)
        settings.timeouts.total = nil
        var route = HTTPDNSRoute(try .init("pay.test"), .providers(["scripted"], fallback: .system))
        route.rollout = HTTPDNSRoute.Rollout(percent: 25, by: .key)
        route.mode = .shadow
        settings.resolver.routes.append(route)
        try await rig.client.reload(settings)
        let diagnostics = rig.client.status()
        #expect(diagnostics.limits.connectSeconds == 2 && diagnostics.limits.totalSeconds == nil)
        let pay = try #require(diagnostics.routes.last)
        #expect(pay.pattern == "pay.test" && pay.fallback == "system" && pay.mode == "shadow")
        #expect(pay.rolloutPercent == 25 && pay.rolloutBy == "key")
    }

    /// The limit of idle connections is the transport's.
    @Test("Reported connection limits are the lower of the client's and its transport's")
    func connectionLimits() async throws {
        var shared = HTTPDNSClient.Configuration.Connections()
        (shared.maximumPerHost, shared.maximum, shared.queueWait) = (64, 1024, .seconds(2))
        var limits = HTTPDNSLibcurlTransport.Limits()
        limits.idleConnections = 7
        var settings = HTTPDNSClient.Configuration()
        (settings.connections.maximumPerHost, settings.connections.maximumQueued) = (8, 100)
        settings.maximumRequestsInFlight = 500
        let transport = HTTPDNSLibcurlTransport(limits: limits, connections: shared)
        let client = try await HTTPDNSClient(configuration: settings, on: transport)
        let told = client.status().limits
        #expect(told.connectionsPerHost == 8 && told.connections == 1024 && told.requestsWaiting == 100)
        #expect(told.queueSeconds == 2 && told.requestsInFlight == 500 && told.idleConnections == 7)
        try await client.shutdown()
        let free = try Rig().client.status().limits
        #expect(free.connectionsPerHost == nil && free.connections == nil && free.requestsWaiting == nil)
        #expect(free.queueSeconds == nil && free.requestsInFlight == 16_384 && free.idleConnections == 1024)
    }

    @Test("Diagnostics survive JSON and contain no URL")
    func codable() async throws {
        let rig = try Rig()
        _ = try await rig.client.resolve("one.test")
        let diagnostics = rig.client.status()
        let data = try JSONEncoder().encode(diagnostics)
        #expect(try JSONDecoder().decode(HTTPDNSClient.Status.self, from: data) == diagnostics)
        #expect(!String(decoding: data, as: UTF8.self).contains("://"))
        #expect(diagnostics.version == 1)
        // The word of the file, and not the name in code.
        #expect(diagnostics.routes.first?.fallback == "none")
    }
}
