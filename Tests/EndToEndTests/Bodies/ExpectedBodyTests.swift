// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Bodies that wait for the server, and bodies that are sent again. `make test` runs it apart from other suites.
struct ExpectedBodyTests {
    private func settings() throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1"])
        configuration.makePatient()
        return configuration
    }

    private func request(_ port: UInt16, wait: Duration, body: HTTPDNSClient.Request.Body = .text("hello"))
        -> HTTPDNSClient.Request
    {
        HTTPDNSClient.Request(method: .post, url: "http://one.test:\(port)/", body: body) { $0.continueTimeout = wait }
    }

    @Test("A body waits for 100 (Continue)")
    func continued() async throws {
        let (headRead, goOn) = (Gate(), Gate())
        let server = try RawServer(
            .readHead,
            .open(headRead),
            .wait(goOn),
            .sendText("HTTP/1.1 100 Continue\r\n\r\n"),
            .read(5),
            .respond("ok")
        )
        try await withClient(settings()) { client in
            async let response = client.execute(request(server.port, wait: .seconds(60)))
            await headRead.passage()
            #expect(server.connections[0].text.contains("\r\nExpect: 100-continue\r\n"))
            #expect(server.connections[0].text.hasSuffix("\r\n\r\n"))
            goOn.open()
            let status = try await response.status
            #expect(status == .ok)
        }
        #expect(server.connections[0].text.hasSuffix("\r\n\r\nhello"))
    }

    @Test("A body is sent when its time for 100 (Continue) has passed")
    func overdue() async throws {
        for wait in [Duration.milliseconds(1500), .zero] {
            let server = try RawServer(.readHead, .read(5), .respond("ok"))
            let elapsed = try await ContinuousClock().measure {
                try await withClient(settings()) { client in
                    let response = try await client.execute(request(server.port, wait: wait))
                    #expect(response.status == .ok)
                }
            }
            #expect(server.connections[0].text.contains("Expect:") == (wait > .zero))
            // libcurl's own time is one second.
            #expect(elapsed >= wait && elapsed < .seconds(15), "\(elapsed)")
        }
    }

    @Test("A final response to the head ends the request without its body", arguments: [401, 413, 200])
    func refused(status: Int) async throws {
        let server = try RawServer(.readHead, .respond("no", status: "\(status) X", fields: "Connection: close\r\n"))
        try await withClient(settings()) { client in
            let response = try await client.execute(request(server.port, wait: .seconds(60)))
            #expect(response.status.code == status)
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("no".utf8))
        }
        #expect(!server.text.contains("hello"))
    }

    /// The server closes the connection with its refusal, or keeps it.
    @Test("A response 417 repeats the request without its expectation", arguments: [false, true], [false, true])
    func expectationFailed(closes: Bool, hasOwnField: Bool) async throws {
        let refusal = RawServer.Step.respond(
            status: "417 Expectation Failed",
            fields: closes ? "Connection: close\r\n" : ""
        )
        let second: [RawServer.Step] = [.readHead, .read(5), .respond("ok")]
        let server = try RawServer { number in
            number == 0 ? [.readHead, refusal] + (closes ? [] : second) : second
        }
        try await withClient(settings()) { client in
            var request = request(server.port, wait: hasOwnField ? .zero : .seconds(60))
            if hasOwnField { request.headerFields[.expect] = "100-continue" }
            let response = try await client.execute(request)
            #expect(response.status == .ok && response.exchanges.map(\.status.code) == [417, 200])
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("ok".utf8))
        }
        #expect(server.count(of: "Expect: 100-continue") == 1 && server.count(of: "hello") == 1)
        #expect(server.count(of: "POST / HTTP/1.1") == 2)
    }

    @Test("A response 417 to a stream, or to a request without an expectation, is returned")
    func returned() async throws {
        for (body, wait) in [
            (HTTPDNSClient.Request.Body.stream(Chunks([Array("hello".utf8)])), Duration.seconds(60)),
            (.text("hello"), .zero),
        ] {
            let server = try RawServer(.readHead, .respond(status: "417 X", fields: "Connection: close\r\n"))
            try await withClient(settings()) { client in
                let response = try await client.execute(request(server.port, wait: wait, body: body))
                #expect(response.status.code == 417)
            }
            #expect(server.count(of: "POST / HTTP/1.1") == 1)
        }
    }

    /// The first address refuses connections, so nothing was sent.
    @Test("A body in memory is sent again after a try that sent nothing")
    func replayed() async throws {
        let refusing = try RawServer(address: "127.0.0.8")
        try await refusing.refuse()
        let server = try RawServer(address: "127.0.0.9", port: refusing.port, .readHead, .read(5), .respond("ok"))
        try await withClient(settings()) { client in
            var request = request(server.port, wait: .zero)
            request.changeOptions { $0.addresses = .only(["127.0.0.8", "127.0.0.9"]) }
            let response = try await client.execute(request)
            #expect(response.status == .ok && response.exchanges.last?.failedAttempts.count == 1)
        }
        #expect(server.count(of: "hello") == 1)
    }
}
