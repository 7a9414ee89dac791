// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A loop of two nginx and a service that forwards through the library.
@Suite("Loops of forwarders", .enabled(if: ServerRig.isAvailable([.nginx])))
struct ForwardingLoopTests {
    /// A service that the second nginx forwards to. The test answers its requests.
    private struct Service {
        static let field = HTTPField.Name("CDN-Loop")

        let arrivals = (0..<16).map { _ in Gate() }
        let answers = (0..<16).map { _ in Gate() }
        let server: RawServer
        let first: NginxForwarder
        let second: NginxForwarder

        init() async throws {
            server = try RawServer { [arrivals, answers] number in
                [
                    .readHead, .open(arrivals[number]), .wait(answers[number]),
                    .respond("it loops", status: "508 Loop Detected", fields: "Connection: close\r\n"),
                ]
            }
            second = try await NginxForwarder(to: server.port)
            first = try await NginxForwarder(to: second.port)
        }

        func awaitRequest(_ number: Int) async throws {
            try await server.awaitConnections { $0.count > number && $0[number].text.contains("\r\n\r\n") }
        }

        /// Returns the field of a request that came in.
        func loopField(_ number: Int) -> String? {
            server.connections[number].text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("cdn-loop:") }
                .map { $0.drop { $0 != ":" }.dropFirst().drop { $0 == " " } }.map(String.init)
        }

        /// Sends a request on to the first nginx, as often as it comes back.
        /// - Returns: The error of the innermost request; nil when it had a response.
        func forward(_ loopField: String?, through client: HTTPDNSClient, number: Int = 0) async throws
            -> HTTPDNSClientError?
        {
            var request = HTTPDNSClient.Request(url: "http://127.0.0.1:\(first.port)/a")
            request.headerFields[try #require(Service.field)] = loopField
            let end = Gate()
            let call = Task { [request] in
                defer {
                    end.open()
                    arrivals[number].open()
                }
                return try await client.execute(request).status.code
            }
            await arrivals[number].passage()
            // A request that has come back has no response yet.
            if !end.isOpen {
                try await awaitRequest(number)
                let error = try await forward(self.loopField(number), through: client, number: number + 1)
                answers[number].open()
                #expect(try await call.value == 508)
                return error
            }
            do {
                _ = try await call.value
                return nil
            } catch let error as HTTPDNSClientError {
                return error
            }
        }
    }

    @Test("A request that comes back is stopped after the limit", arguments: [0, 2])
    func stopped(limit: Int) async throws {
        let service = try await Service()
        var configuration = HTTPDNSClient.Configuration()
        configuration.networkInterceptors = [try HTTPDNSClient.CDNLoop(id: "gateway.test", limit: limit)]
        try await withClient(configuration) { client in
            let error = try await service.forward("outer.test", through: client)
            #expect(error?.code == .loop)
        }
        #expect(service.server.connections.count == limit + 1)
        let ids = ["outer.test"] + [String](repeating: "gateway.test", count: limit + 1)
        #expect(service.loopField(limit) == ids.joined(separator: ", "))
    }

    @Test("Without the interceptor, the field is absent")
    func off() async throws {
        let service = try await Service()
        service.answers[0].open()
        try await withClient(HTTPDNSClient.Configuration()) { client in
            let response = try await client.get("http://127.0.0.1:\(service.first.port)/a")
            #expect(response.status.code == 508)
            try await response.text()
        }
        try await service.awaitRequest(0)
        #expect(service.loopField(0) == nil && service.server.count(of: "GET /a ") == 1)
    }
}
