// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Testing

struct KillSwitchTests {
    private func rig(_ configure: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }) throws -> Rig {
        let rig = try Rig(configure: configure)
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 60)]), for: try HTTPDNSName("one.test"))
        return rig
    }

    @Test("A switched-off client takes the system path, and pins again once it is on")
    func nextRequest() async throws {
        let rig = try rig()
        _ = try await rig.client.get("http://one.test/")
        rig.client.killSwitch.turnOff()
        let off = try await rig.client.get("http://one.test/")
        let rewritten = try #require(off.exchanges.first?.request)
        #expect(rewritten.source == .system && rewritten.tag == nil)
        #expect(rewritten.resolution.systemReason == .switchedOff)
        rig.client.killSwitch.turnOn()
        _ = try await rig.client.get("http://one.test/")
        #expect(
            rig.wire.requests.map { $0.endpoints.map(\.description) } == [
                ["203.0.113.1:80"], ["203.0.113.60:80"], ["203.0.113.1:80"],
            ]
        )
        #expect(rig.wire.retirements == 2, "with each turn")
    }

    /// An older one counts again.
    @Test("A tag does not count while its issuer or its reader is off")
    func tags() async throws {
        let first = try rig()
        let second = try rig()
        let rewritten = try await first.client.rewrite("http://one.test/")
        first.client.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.test")))
        #expect(rewritten.tag?.isValid == false)
        first.client.killSwitch.turnOn(.route(try HTTPDNSRoute.Pattern("*.test")))
        #expect(rewritten.tag?.isValid == true)
        second.client.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("one.test")))
        let response = try await second.client.execute(rewritten)
        #expect(response.exchanges.first?.request.source == .system)
    }

    @Test(
        "HTTPDNS_DISABLED switches off at start",
        arguments: [
            ("1", true), ("true", true), ("YES", true), ("0", false), ("false", false), ("", false), ("maybe", false),
            (nil, false),
        ] as [(String?, Bool)]
    )
    func environment(value: String?, isOff: Bool) async throws {
        let rig = try rig { $0.environment = { $0 == "HTTPDNS_DISABLED" ? value : nil } }
        #expect(rig.client.killSwitch.entries.map(\.origin) == (isOff ? [.environment] : []))
        rig.client.killSwitch.turnOn()
        #expect(rig.client.killSwitch.isOn == !isOff, "nobody but the environment takes that back")
        #expect(
            try await rig.client.get("http://one.test/").exchanges.first?.request.source
                == (isOff ? .system : .provider)
        )
    }

    @Test("A reload applies the file's switch, limits and routes, or nothing")
    func reload() async throws {
        let rig = try rig()
        var configuration = rig.configuration
        configuration.isEnabled = false
        configuration.timeouts.firstByte = .seconds(7)
        configuration.connections.maximumIdle = 3
        configuration.bandwidth.receiving = .mebibytes(1)
        let result = try await rig.client.reload(configuration)
        #expect(result.isChanged && result.needsRestart == ["client.bandwidth", "client.connections"])
        #expect(try await rig.client.get("http://one.test/").exchanges.first?.request.source == .system)
        #expect(rig.wire.requests.last?.limits.firstByte == .seconds(7))

        configuration.isEnabled = true
        configuration.timeouts.connect = .zero
        await #expect(throws: HTTPDNSClientError.self) { try await rig.client.reload(configuration) }
        #expect(!rig.client.killSwitch.isOn)
        configuration.timeouts.connect = .seconds(1)
        #expect(try await rig.client.reload(configuration).isChanged)
        #expect(rig.client.killSwitch.isOn)
        #expect(try await rig.client.get("http://one.test/").exchanges.first?.request.source == .provider)
        #expect(try await !rig.client.reload(configuration).isChanged)
    }

    @Test("A reload of routes invalidates older tags")
    func reloadAndTags() async throws {
        let rig = try rig()
        let rewritten = try await rig.client.rewrite("http://one.test/")
        #expect(rewritten.tag?.isValid == true)
        var configuration = rig.configuration
        configuration.resolver.routes[0].action = .system
        try await rig.client.reload(configuration)
        #expect(rewritten.tag?.isValid == false)
    }

    @Test("A request's rollout key reaches the route")
    func rolloutKey() async throws {
        let rig = try rig { $0.resolver.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 50, by: .key) }
        var sources: Set<String> = []
        for number in 0..<20 {
            let rewritten = try await rig.client.rewrite("http://one.test/") { $0.rolloutKey = "user-\(number)" }
            sources.insert(rewritten.source.description)
        }
        #expect(sources == ["provider", "system"])
    }
}
