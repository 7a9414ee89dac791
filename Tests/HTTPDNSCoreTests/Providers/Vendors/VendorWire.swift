// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig

@testable import HTTPDNSCore

/// A vendor's provider with its own transport against a server that does as it is told.
enum VendorWire {
    /// What comes of a query; nil when it is answered.
    /// - Parameter make: The provider for a server at a port of this machine.
    static func error(
        _ steps: [RawServer.Step],
        _ families: HTTPDNSAddress.Families,
        timeLimit: Duration,
        _ make: (UInt16) throws -> any HTTPDNSProvider
    ) async throws -> HTTPDNSProviderError? {
        let server = try RawServer { _ in steps }
        defer { server.stop() }
        let provider = try make(server.port)
        defer { Task { await provider.shutdown() } }
        do {
            let query = HTTPDNSProviderQuery(
                host: try HTTPDNSName("www.example.com"),
                families: families,
                timeLimit: timeLimit
            )
            _ = try await provider.resolve(query)
            return nil
        } catch let error as HTTPDNSProviderError {
            return error
        }
    }

    /// The octets of the request with which a provider gets an answer about both families.
    static func request(answered body: String, _ make: (UInt16) throws -> any HTTPDNSProvider) async throws -> String {
        let server = try RawServer { _ in [.readHead, answer(body), .hang] }
        defer { server.stop() }
        let provider = try make(server.port)
        let query = HTTPDNSProviderQuery(
            host: try HTTPDNSName("www.example.com"),
            families: .both,
            timeLimit: .seconds(120)
        )
        let resolved = try await provider.resolve(query)
        await provider.shutdown()
        guard resolved.v4 != nil, resolved.v6 != nil else { return "" }
        return String(decoding: server.connections.first?.received ?? [], as: UTF8.self)
    }

    static func answer(_ body: String, status: String = "200 OK", length: Int? = nil) -> RawServer.Step {
        .sendText("HTTP/1.1 \(status)\r\nContent-Length: \(length ?? body.utf8.count)\r\n\r\n\(body)")
    }
}
