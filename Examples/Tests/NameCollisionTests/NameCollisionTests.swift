// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import GRPCCore
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSTesting
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Testing

extension Tag {
    @Tag static var collisions: Self
}

/// That this file compiles is the test: each name below is written as its users write it, without its module.
struct NameCollisionTests {
    @Test("The names of other packages stay as they are beside the client's", .tags(.collisions))
    func names() throws {
        // Hummingbird
        let router = Router()
        router.get("/health") { (request: Request, _: BasicRequestContext) -> Response in
            Response(status: .ok, headers: request.headers, body: ResponseBody(byteBuffer: ByteBuffer(string: "ok")))
        }
        let routes: [any RouterMethods.Type] = []
        // gRPC
        let policy = RetryPolicy(
            maxAttempts: 3,
            initialBackoff: .seconds(1),
            maxBackoff: .seconds(2),
            backoffMultiplier: 2,
            retryableStatusCodes: [.unavailable]
        )
        let status = Status(code: .ok, message: "")
        let metadata: Metadata = [:]
        // NIO
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        let version: HTTPVersion = head.version
        let tls = TLSConfiguration.makeClientConfiguration()
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 80)
        // Foundation
        let progress = Progress(totalUnitCount: 1)
        let url = URL(string: "https://img.shop.example/a.jpg")

        // The client's
        let request = HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg")
        let body: HTTPDNSClient.Request.Body = .text("a")
        let retries: HTTPDNSClient.RetryPolicy = .off
        let state: HTTPDNSClient.Status.Type = HTTPDNSClient.Status.self
        let tag: HTTPDNSRewriter.Tag.Type = HTTPDNSRewriter.Tag.self
        let route = HTTPDNSRoute(.any, .system)
        let own = HTTPDNSAddress(v4: 127, 0, 0, 1)
        let reached: HTTPDNSClient.Progress.Type = HTTPDNSClient.Progress.self
        let trust = HTTPDNSTrust()

        #expect(routes.isEmpty && policy.maxAttempts == 3 && status.code == .ok && metadata.isEmpty)
        #expect(version == .http1_1 && tls.minimumTLSVersion == .tlsv1 && address.port == 80)
        #expect(progress.totalUnitCount == 1 && url != nil && request.url.hasPrefix("https://"))
        #expect("\(body)\(retries)\(state)\(tag)\(route)\(own)\(reached)\(trust)".isEmpty == false)
    }
}
