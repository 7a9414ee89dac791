// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// The origins of a hop, as a network interceptor is told, and the fields that the servers receive.
@Suite(
    "Interceptors across origins",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct CrossOriginInterceptorTests {
    /// Adds a credential to requests for the call's own origin alone, and records what it was told.
    private final class Signing: HTTPDNSClient.Interceptor {
        let journal = Journal<String>()

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            journal.write("\(context.initialOrigin?.description ?? "-") \(context.isCrossOrigin)")
            var request = request
            if !context.isCrossOrigin { request.headerFields[.authorization] = "Bearer canary" }
            return try await next(request, context)
        }
    }

    /// A redirect chain by what each hop's origin is.
    struct Chain: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// A scheme and a host: `https one`.
        var hops: [String]
        /// Whether a hop is for another origin than the first.
        var isCrossOrigin: [Bool]
    }

    static let chains = [
        Chain(testDescription: "to another host", hops: ["https one", "https two"], isCrossOrigin: [false, true]),
        Chain(
            testDescription: "to another host and back",
            hops: ["https one", "https two", "https one"],
            isCrossOrigin: [false, true, false]
        ),
        Chain(testDescription: "up to https", hops: ["http one", "https one"], isCrossOrigin: [false, true]),
        Chain(testDescription: "to another port", hops: ["https one", "other one"], isCrossOrigin: [false, true]),
        Chain(testDescription: "in place", hops: ["https one", "https one"], isCrossOrigin: [false, false]),
    ]

    @Test("A network interceptor sees which hops are for another origin than the first", arguments: chains)
    func chain(_ chain: Chain) async throws {
        let rig = try await ServerRig.shared()
        var (url, origins) = ("", [String]())
        for (index, hop) in chain.hops.enumerated().reversed() {
            let host = "\(hop.split(separator: " ")[1]).test"
            let origin =
                switch hop.split(separator: " ")[0] {
                case "http": "http://\(host):\(rig.httpPort)"
                case "https": "https://\(host):\(rig.tlsPort)"
                default: "https://\(host):\(rig.http1Port)"
                }
            url = origin + (index == chain.hops.count - 1 ? "/echo" : "/redirect/302?to=\(url)")
            origins.insert(origin, at: 0)
        }
        let signing = Signing()
        var configuration = try rig.settings()
        configuration.networkInterceptors = [signing]
        try await withClient(configuration) { [url] client in
            let response = try await client.get(url)
            let isLastSigned = chain.isCrossOrigin.last == false
            #expect(try await Echo(response).headers["authorization"] == (isLastSigned ? .one("Bearer canary") : nil))
        }
        #expect(signing.journal.all == chain.isCrossOrigin.map { "\(origins[0]) \($0)" })
    }

    private static func redirect(to url: String) -> RawServer.Step {
        .respond(status: "302 Found", fields: "Location: \(url)\r\n")
    }

    @Test("A server that a redirect names receives nothing added for the first origin alone")
    func received() async throws {
        let otherPort = Lock<UInt16>(0)
        let own = try RawServer { connection in
            guard connection == 0 else {
                return [.readHead, .respond("ok")]
            }
            return [.readHead, Self.redirect(to: "http://127.0.0.1:\(otherPort.withLock { $0 })/other")]
        }
        let other = try RawServer(.readHead, Self.redirect(to: "http://127.0.0.1:\(own.port)/back"))
        otherPort.withLock { $0 = other.port }
        let signing = Signing()
        var configuration = HTTPDNSClient.Configuration()
        configuration.networkInterceptors = [signing]
        try await withClient(configuration) { client async throws in
            #expect(try await client.get("http://127.0.0.1:\(own.port)/start").text() == "ok")
        }
        #expect(signing.journal.all.map { $0.hasSuffix(" true") } == [false, true, false])
        let (signed, unsigned) = (own.connections.map(\.text), other.connections.map(\.text))
        #expect(signed.map { $0.hasPrefix("GET /start ") } == [true, false] && unsigned.count == 1)
        #expect(signed.allSatisfy { $0.lowercased().contains("authorization: bearer canary\r\n") }, "\(signed)")
        #expect(unsigned.allSatisfy { !$0.lowercased().contains("authorization") }, "\(unsigned)")
    }
}
