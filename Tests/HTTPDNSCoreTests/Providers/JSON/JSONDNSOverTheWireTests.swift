// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// The provider over its own transport, against nginx and against a server that says what no real one would.
struct JSONDNSOverTheWireTests {
    private static let message = JSONText.answer(
        to: .a("one.test"),
        #""Status":0,"Answer":[\#(JSONText.record(.a("one.test"), "127.0.0.2"))]"#
    )

    private static func head(_ fields: String, status: String = "200 OK") -> RawServer.Step {
        .sendText("HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(fields)\r\n")
    }

    /// The code of the error that the steps lead to; nil when there is an answer.
    private func code(timeLimit: Duration = .seconds(120), _ steps: RawServer.Step...) async throws
        -> HTTPDNSProviderError.Code?
    {
        let server = try RawServer { _ in steps }
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/resolve"
        let provider = try HTTPDNSJSONProvider(.init(name: "raw", service: .google, url: url))
        defer { Task { await provider.shutdown() } }
        do {
            _ = try await provider.resolve(
                HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .v4, timeLimit: timeLimit)
            )
            return nil
        } catch let error as HTTPDNSProviderError {
            return error.code
        }
    }

    @Test(
        "The JSON DNS provider keeps the contract of providers, against nginx over TLS",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func compatibility() async throws {
        let rig = try await ServerRig.shared()
        var fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: try HTTPDNSName("dual.test"),
            dualStackAddresses: [HTTPDNSAddress(v4: 127, 0, 0, 2), HTTPDNSAddress(family: .v6, high: 0, low: 1)],
            v4OnlyName: try HTTPDNSName("v4only.test"),
            unknownName: try HTTPDNSName("nowhere.test"),
            silentName: try HTTPDNSName("silent.test")
        ) {
            var configuration = HTTPDNSJSONProvider.Configuration(
                name: "json",
                service: .google,
                url: "https://json.wild.test:\(rig.tlsPort)/resolve?v4=127.0.0.2&v6=::1",
                bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 2)]
            )
            configuration.trustRoots = .file(rig.certificateAuthorityFile)
            return try HTTPDNSJSONProvider(configuration)
        }
        // A busy machine may take long over a handshake, and that is not what is tested.
        fixture.timeLimit = .seconds(30)
        fixture.gracePeriod = .seconds(30)
        #expect(await HTTPDNSProviderCompatibility(fixture).violations() == [])
    }

    @Test(
        "A certificate for another name is refused, and the error names what to check",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func wrongCertificate() async throws {
        let rig = try await ServerRig.shared()
        var configuration = HTTPDNSJSONProvider.Configuration(
            name: "json",
            service: .google,
            url: "https://json.wild.test:\(rig.tlsPort)/resolve",
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 5)]
        )
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let provider = try HTTPDNSJSONProvider(configuration)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .v4, timeLimit: .seconds(120))
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await provider.resolve(query) }
        #expect(error?.code == .unreachable && error?.message.contains("certificate") == true)
        await provider.shutdown()
    }

    @Test("Wrong lengths, bodies beyond 64 KiB and bodies that end early are no answer")
    func lengths() async throws {
        let text = Self.message
        #expect(
            try await code(.readHead, Self.head("Content-Length: \(text.utf8.count)\r\n"), .sendText(text), .hang)
                == nil
        )
        let blanks = String(repeating: " ", count: 64 * 1024 - text.utf8.count)
        #expect(
            try await code(.readHead, Self.head("Content-Length: 65536\r\n"), .sendText(text + blanks), .hang) == nil
        )
        #expect(
            try await code(.readHead, Self.head("Content-Length: 65537\r\n"), .sendText(text + blanks + " "), .hang)
                == .badResponse
        )
        let chunk = "fff\r\n" + String(repeating: " ", count: 0xfff) + "\r\n"
        #expect(
            try await code(
                .readHead,
                Self.head("Transfer-Encoding: chunked\r\n"),
                .repeatForever([.sendText(chunk)])
            ) == .badResponse
        )
        #expect(
            try await code(.readHead, Self.head("Content-Length: \(text.utf8.count + 1)\r\n"), .sendText(text)) != nil
        )
    }

    @Test("A body of one octet and then silence ends at the time limit")
    func slow() async throws {
        #expect(
            try await code(
                timeLimit: .milliseconds(300),
                .readHead,
                Self.head("Content-Length: 100\r\n"),
                .sendText("{"),
                .hang
            ) == .timedOut
        )
    }

    @Test("A redirect is not followed, and a reset connection is no answer")
    func redirect() async throws {
        let target = try RawServer(.hang)
        let place = "Location: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n"
        #expect(try await code(.readHead, Self.head(place, status: "301 Elsewhere")) == .httpStatus)
        #expect(target.connections.isEmpty)
        target.stop()
        #expect(try await code(.readHead, .reset) == .unreachable)
    }
}
