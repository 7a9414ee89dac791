// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Beginning and end of clients on a shared transport, and its ceilings.
@Suite("Tenants come and go", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct TenantLifeTests {
    private func configuration() async throws -> HTTPDNSClient.Configuration {
        try await ServerRig.shared().settings(mappings: ["*.test": .addresses(["127.0.0.2"])])
    }

    /// Readers of the cut transfers get an error.
    @Test("A client's shutdown cuts its own transfers and leaves the others' alone")
    func ownTransfers() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://one.test:\(rig.tlsPort)"
        let transport = HTTPDNSLibcurlTransport()
        let first = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        let second = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        // Both in flight on one connection.
        let cut = try await first.get("\(url)/stall-body/600")
        let left = try await second.get("\(url)/stall-body/0.5")
        try await first.shutdown()
        let error = try await refusal { try await cut.text() }
        #expect(error.code == .shutDown && error.requestMayHaveBeenSent)
        #expect(try await left.text() == "begin\nend\n")
        #expect(try await second.get("\(url)/health").exchanges[0].reusedConnection)
        #expect(try await refusal { _ = try await first.get("\(url)/health") }.code == .shutDown)
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await first.shutdown()
        try await second.shutdown()
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 0, trustSettings: 0, loops: 0))
        // A transport without clients takes new ones.
        let third = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        #expect(try await third.get("\(url)/health").text() == "127.0.0.2\n")
        try await third.shutdown()
    }

    @Test("A client's shutdown waits for its transfers as long as it is asked to")
    func draining() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let other = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        let client = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        let response = try await client.get("https://one.test:\(rig.tlsPort)/stall-body/0.5")
        async let ended: Void = client.shutdown(drainingFor: .seconds(60))
        #expect(try await response.text() == "begin\nend\n")
        try await ended
        try await other.shutdown()
    }

    @Test("A transport's shutdown ends all transfers and refuses later clients and requests")
    func wholeTransport() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        let cut = try await client.get("https://one.test:\(rig.tlsPort)/stall-body/600")
        await transport.shutdown()
        #expect(try await refusal { try await cut.text() }.code == .shutDown)
        #expect(
            try await refusal { _ = try await client.get("https://one.test:\(rig.tlsPort)/health") }.code == .shutDown
        )
        let late = try await configuration()
        let error = try await refusal { _ = try await HTTPDNSClient(configuration: late, on: transport) }
        #expect(error.code == .shutDown && error.message == "the transport is shut down")
        try await client.shutdown()
    }

    /// The error says what to do.
    @Test("One trust setting above the limit is refused, and equal ones count once")
    func ceiling() async throws {
        var limits = HTTPDNSLibcurlTransport.Limits()
        limits.trustSettings = 1
        let transport = HTTPDNSLibcurlTransport(limits: limits)
        let first = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        let equal = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        var different = try await configuration()
        different.trust.minimumVersion = .tls13
        let refused = different
        let error = try await refusal { _ = try await HTTPDNSClient(configuration: refused, on: transport) }
        #expect(error.code == .limitReached && error.phase == .configuration)
        #expect(error.message == "the transport has 1 different trust settings in use, which is its limit")
        #expect(error.hint?.contains("limits.trustSettings") == true)
        try await first.shutdown()
        #expect(
            try await refusal { _ = try await HTTPDNSClient(configuration: refused, on: transport) }.code
                == .limitReached
        )
        try await equal.shutdown()
        let second = try await HTTPDNSClient(configuration: refused, on: transport)
        try await second.shutdown()
    }

    @Test("A request above its client's limit fails immediately and is not sent")
    func requests() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://one.test:\(rig.tlsPort)"
        let transport = HTTPDNSLibcurlTransport()
        var limited = try await configuration()
        limited.maximumRequestsInFlight = 2
        let client = try await HTTPDNSClient(configuration: limited, on: transport)
        let free = try await HTTPDNSClient(configuration: try await configuration(), on: transport)
        var busy = [try await client.get("\(url)/stall-body/600"), try await client.get("\(url)/stall-body/600")]
        let error = try await refusal { _ = try await client.get("\(url)/health") }
        #expect(error.code == .limitReached && error.phase == .queue && !error.requestMayHaveBeenSent)
        #expect(try await free.get("\(url)/health").text() == "127.0.0.2\n")
        #expect(busy.count == 2)
        // What nobody reads any more ends, and makes room.
        busy = []
        while true {
            try Task.checkCancellation()
            guard let response = try? await client.get("\(url)/health") else { continue }
            #expect(try await response.text() == "127.0.0.2\n")
            break
        }
        try await client.shutdown()
        try await free.shutdown()
    }

    @Test("A thousand clients with equal trust use one loop and one connection")
    func thousand() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        var clients: [HTTPDNSClient] = []
        for _ in 0..<1000 {
            clients.append(try await HTTPDNSClient(configuration: try await configuration(), on: transport))
        }
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 1000, trustSettings: 1, loops: 1))
        var connections = 0
        for client in clients {
            let response = try await client.get("https://one.test:\(rig.tlsPort)/health")
            if !response.exchanges[0].reusedConnection { connections += 1 }
            try await response.text()
        }
        #expect(connections == 1)
        #expect(transport.usage.loops == 1)
        for client in clients { try await client.shutdown() }
        #expect(transport.usage.clients == 0)
    }
}
