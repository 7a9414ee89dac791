// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct CDNLoopTests {
    private static let field = HTTPField.Name("CDN-Loop")

    private func send(_ values: [String], limit: Int = 0) async throws -> Result<String?, any Error> {
        let name = try #require(CDNLoopTests.field)
        let rig = try Rig { $0.networkInterceptors = [try HTTPDNSClient.CDNLoop(id: "gate-1.test:8443", limit: limit)] }
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        request.headerFields[values: name] = values
        do {
            _ = try await rig.client.execute(request)
        } catch {
            #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty)
            return .failure(error)
        }
        return .success(rig.wire.requests.first?.headerFields[name])
    }

    @Test(
        "The identifier is appended to those of other forwarders",
        arguments: [
            ([], "gate-1.test:8443"), (["a.test"], "a.test, gate-1.test:8443"),
            (["a.test; v=1, b", "c"], "a.test; v=1, b, c, gate-1.test:8443"),
            (["gate-1.test, gate-1.test:84430"], "gate-1.test, gate-1.test:84430, gate-1.test:8443"),
            (["a; x=gate-1.test:8443"], "a; x=gate-1.test:8443, gate-1.test:8443"),
        ] as [([String], String)]
    )
    func appended(values: [String], expected: String) async throws {
        #expect(try await send(values).get() == expected)
    }

    @Test(
        "A request that has the identifier more often than the limit fails with loop",
        arguments: [
            (["gate-1.test:8443"], 0), (["a, GATE-1.test:8443 ; x=1"], 0),
            (["gate-1.test:8443", "gate-1.test:8443"], 1),
            (["a; x=\"open, gate-1.test:8443"], 0),
        ] as [([String], Int)]
    )
    func loop(values: [String], limit: Int) async throws {
        let error = await clientError { try await send(values, limit: limit).get() }
        #expect(error?.code == .loop && error?.host == "one.test" && error?.requestMayHaveBeenSent == false)
        #expect(error?.message.contains("gate-1.test:8443") == true)
        // One more is allowed by one more.
        #expect(try await send(values, limit: limit + 1).get()?.hasSuffix(", gate-1.test:8443") == true)
    }

    @Test("A retried or redirected hop gets the identifier once")
    func once() async throws {
        let wire = ScriptedWire { request, number in
            if number == 0 { throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused") }
            guard number == 1 else { return .ok(from: request) }
            return .ok(from: request, status: .found, fields: [.location: "https://two.test/"])
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.retries = .standard
            configuration.random = { 0 }
            configuration.networkInterceptors = [try HTTPDNSClient.CDNLoop(id: "gate")]
        }
        _ = try await rig.client.get("https://one.test/")
        let name = try #require(CDNLoopTests.field)
        #expect(rig.wire.requests.map { $0.headerFields[name] } == ["gate", "gate", "gate"])
    }

    @Test("No client sends the field by itself")
    func off() async throws {
        let rig = try Rig()
        _ = try await rig.client.get("https://one.test/")
        #expect(rig.wire.requests.first?.headerFields.contains(try #require(CDNLoopTests.field)) == false)
    }

    @Test("An identifier that is no host or token is refused", arguments: ["", "a b", "a,b", "a;b", "ä", "a\r\nb"])
    func refused(id: String) async {
        let error = await clientError { try HTTPDNSClient.CDNLoop(id: id) }
        #expect(error?.code == .configuration)
        let negative = await clientError { try HTTPDNSClient.CDNLoop(id: "a", limit: -1) }
        #expect(negative?.code == .configuration)
    }
}
