// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

extension ServerRig {
    /// Settings of a client that trusts the rig's authority and asks BIND about every name but the internal ones.
    /// - Parameter answers: What BIND may answer; the rig's own servers are on loopback.
    func settings(
        fallback: HTTPDNSRoute.Fallback = .off,
        answers: HTTPDNSAddressPolicy.Scope = .loopback
    ) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(certificateAuthorityFile)
        var service = HTTPDNSDoHProvider.Configuration(
            name: "bind",
            url: dohURL,
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        service.trustRoots = .file(certificateAuthorityFile)
        service.answerScope = answers
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["bind"], fallback: fallback))]
        configuration.adaptToTests()
        return configuration
    }

    /// Settings of a client that trusts the rig's authority and knows these mappings and no provider.
    func settings(mappings: [String: HTTPDNSMapping]) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(certificateAuthorityFile)
        try configuration.add(mappings)
        configuration.adaptToTests()
        return configuration
    }

    /// Settings of a client that asks BIND, and knows these mappings.
    func settings(besides mappings: [String: HTTPDNSMapping]) throws -> HTTPDNSClient.Configuration {
        var configuration = try settings()
        try configuration.add(mappings)
        return configuration
    }
}

extension HTTPDNSClient.Configuration {
    fileprivate mutating func add(_ mappings: [String: HTTPDNSMapping]) throws {
        for (key, mapping) in mappings { resolver.mappings[try HTTPDNSMapping.Key(key)] = mapping }
    }

    /// What differs from the defaults in nearly all tests. Sixty suites beside each other keep two cores busy for longer than
    /// a query (3 s), a connection (5 s) and a response (30 s) may take, and for longer than a handshake may before
    /// the next address is tried (250 ms). And what an answer says is where the next request goes, which is how a test
    /// tells that it came.
    mutating func adaptToTests() {
        resolver.timeLimit = .seconds(60)
        options.timeouts.connect = .seconds(60)
        options.timeouts.tls = .seconds(60)
        options.timeouts.firstByte = .seconds(60)
        options.timeouts.idle = .seconds(60)
        connections.happyEyeballsDelay = .seconds(60)
        connections.addressStickiness = .zero
    }

    /// For subjects that a busy machine would turn into a time-out of the connection.
    mutating func makePatient() {
        adaptToTests()
        options.timeouts.total = .seconds(120)
    }
}

/// Runs `body` with a client that is shut down afterwards, whatever happens.
@discardableResult
func withClient<Result>(
    _ configuration: HTTPDNSClient.Configuration,
    _ body: (HTTPDNSClient) async throws -> Result
) async throws -> Result {
    try await withHTTPDNSClient(configuration: configuration, body)
}

/// The client's error that `body` ends with.
/// - Throws: What `body` threw instead, or that it threw nothing.
func refusal(_ body: () async throws -> Void) async throws -> HTTPDNSClientError {
    do {
        try await body()
    } catch let error as HTTPDNSClientError {
        return error
    }
    throw NothingRefused()
}

private struct NothingRefused: Error, CustomStringConvertible {
    var description: String { "what should have been refused went through" }
}

/// What an origin of the rig says at `/echo` about the request that reached it.
struct Echo: Decodable {
    var address: String
    var host: String
    var sni: String?
    var method: String
    var target: String
    var headers: [String: FieldValue]

    /// One value, or several of one field.
    enum FieldValue: Decodable, Equatable {
        case one(String)
        case many([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .one(text)
            } else {
                self = .many(try container.decode([String].self))
            }
        }
    }

    init(_ response: HTTPDNSClient.Response) async throws {
        #expect(response.status == .ok)
        let body = try await response.body.collect(upTo: .mebibytes(1))
        self = try JSONDecoder().decode(Echo.self, from: Data(body))
    }
}

extension HTTPDNSClient.Response {
    /// Reads the body to its end, so that the connection is free again.
    @discardableResult
    func text() async throws -> String {
        String(decoding: try await body.collect(upTo: .mebibytes(1)), as: UTF8.self)
    }
}
