// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// A transport for one test, and short ways to ask it.
struct TransportFixture {
    let transport: Transport

    /// - Parameter loops: The number of loops, which requests go to in turn.
    init(
        trust: HTTPDNSTrust.Roots = .system,
        threadName: String = "httpdns-loop",
        loops: Int = 1
    ) {
        var configuration = TransportConfiguration()
        configuration.trustRoots = trust
        configuration.threadName = threadName
        configuration.loops = loops
        configuration.takesLoopsInTurn = loops > 1
        transport = Transport(configuration)
    }

    init(_ transport: Transport) { self.transport = transport }

    /// A transport that trusts the servers of the rig.
    static func trustingRig() async throws -> TransportFixture {
        TransportFixture(trust: .file(try await ServerRig.shared().certificateAuthorityFile))
    }

    /// A request for `url` at `address`, on the URL's port.
    static func request(
        _ url: String,
        at address: String,
        method: HTTPRequest.Method = .get,
        body: RequestBodySource = .none,
        versions: HTTPDNSTransfer.AllowedVersions = .automatic,
        _ change: (inout TransferLimits) -> Void = { _ in }
    ) throws -> TransferRequest {
        let parsed = try ParsedURL(url)
        let address = try #require(HTTPDNSAddress(address))
        var request = TransferRequest(
            method: method,
            url: parsed,
            body: body,
            endpoints: [HTTPDNSEndpoint(address: address, port: parsed.port)],
            limits: .patient,
            versions: versions
        )
        change(&request.limits)
        return request
    }

    /// A request to `one.test` for a server's address and port.
    static func request(
        to server: RawServer,
        _ path: String = "/",
        method: HTTPRequest.Method = .get,
        body: RequestBodySource = .none,
        versions: HTTPDNSTransfer.AllowedVersions = .automatic,
        _ change: (inout TransferLimits) -> Void = { _ in }
    ) throws -> TransferRequest {
        let url = "http://one.test:\(server.port)\(path)"
        return try request(url, at: server.address, method: method, body: body, versions: versions, change)
    }

    func send(_ request: TransferRequest) async throws -> TransferResponse {
        try await transport.execute(request)
    }

    /// Sends, reads the body to its end and gives it without its content codings.
    @discardableResult
    func fetch(_ request: TransferRequest) async throws -> (response: TransferResponse, body: [UInt8]) {
        let response = try await send(request)
        return (response, try await response.readDecoded())
    }

    /// The failure that sending and reading ends with.
    func failure(of request: TransferRequest) async -> TransferFailure? {
        await #expect(throws: TransferFailure.self) { try await fetch(request) }
    }
}

extension TransferLimits {
    /// The defaults, and a minute for a connection: a busy machine may need longer than they say.
    static var patient: TransferLimits {
        var limits = TransferLimits()
        (limits.connect, limits.tls) = (.seconds(60), .seconds(60))
        return limits
    }
}

extension Transport {
    /// Sends, reads the body to its end and gives the response.
    @discardableResult
    func fetch(_ request: TransferRequest) async throws -> TransferResponse {
        let response = try await execute(request)
        for try await _ in response.body {}
        return response
    }
}

/// Chunks that a test puts in by hand.
struct HandFedStream {
    let stream: AsyncThrowingStream<[UInt8], any Error>
    let feed: AsyncThrowingStream<[UInt8], any Error>.Continuation

    init() {
        (stream, feed) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    }
}
