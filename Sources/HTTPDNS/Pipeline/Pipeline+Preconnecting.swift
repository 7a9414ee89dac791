// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import Synchronization

extension Pipeline {
    /// Makes the connection of a request and keeps it. Interceptors do not run, because nothing is sent.
    /// - Returns: The endpoint of the connection.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func preconnect(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSEndpoint {
        let options = request.own ?? current.options
        let time = CallTime(options.shared.timeouts)
        do {
            return try await keepConnection(for: request, options, time)
        } catch let error as HTTPDNSClientError {
            let error = completed(error, time)
            log(error)
            throw error
        }
    }

    private func keepConnection(
        for request: HTTPDNSClient.Request,
        _ options: HTTPDNSClient.Request.SharedOptions,
        _ time: CallTime
    ) async throws -> HTTPDNSEndpoint {
        try gate.enter()
        defer { gate.leave() }
        let context = HTTPDNSClient.InterceptionContext(
            callID: Pipeline.lastCallID.wrappingAdd(1, ordering: .relaxed).newValue,
            hop: 0,
            depth: 0,
            rewritten: nil,
            call: time,
            callOptions: options,
            compressed: nil,
            frame: nil
        )
        do {
            _ = try await sendInner(request, context)
        } catch let error as HTTPDNSClientError {
            guard let endpoint = error.endpointOfConnection else { throw error }
            return endpoint
        }
        // A request that is never sent has no response.
        throw HTTPDNSClientError.notKept(request.url)
    }
}

extension HandedSocket: HTTPDNSClient.RequestProperty {
    package typealias Value = HandedSocket
}

extension HTTPDNSClient {
    /// A TCP connection for another protocol than HTTP.
    package struct ConnectedSocket: Sendable {
        /// The descriptor, non-blocking, which is the caller's to close.
        package var descriptor: Int32
        /// The endpoint that it leads to, through a proxy where the client has one.
        package var endpoint: HTTPDNSEndpoint
    }

    /// Returns whether the client goes through a proxy on a port of this machine.
    package func goesThrough(loopbackPort port: Int) -> Bool {
        ["http://proxy.invalid/", "https://proxy.invalid/"].contains { text in
            guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(text),
                case .proxy(let proxy)? = try? pipeline.egress.choice(of: HTTPDNSClient.Request(url: text), for: url),
                case .address(let address) = proxy.host
            else { return false }
            return Int(proxy.port) == port && HTTPDNSAddressPolicy.Scope(of: address) == .loopback
        }
    }

    /// Connects to a host in clear text as for a request, with the client's addresses, policy, race, limits, proxy and last
    /// resorts, and hands the connection over. Nothing was sent or read on it.
    /// - Parameter addresses: The source of the host's addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    package func connectedSocket(
        to host: String,
        port: UInt16,
        at addresses: Request.Options.Addresses = .automatic
    ) async throws -> ConnectedSocket {
        let socket = HandedSocket()
        let host = try HTTPDNSRewriter.host(host)
        let authority = if case .address(let address) = host { address.bracketed } else { host.queryText }
        var request = pipeline.resolved(
            HTTPDNSClient.Request(method: .head, url: "http://\(authority):\(port)/") { options in
                options.versions = .http1Only
                options.stopsBeforeSending = true
                options.addresses = addresses
                // That is one server, and not the way to every host.
                options.unixSocket = nil
            }
        )
        request[HandedSocket.self] = socket
        let endpoint = try await pipeline.preconnect(request)
        guard let descriptor = socket.take() else { throw HTTPDNSClientError.notKept(request.url) }
        return ConnectedSocket(descriptor: descriptor, endpoint: endpoint)
    }

    /// Makes connections for later requests, TLS included, and sends nothing on them. The name is resolved and its
    /// addresses are tried as for a request. Interceptors do not run.
    ///
    /// ```swift
    /// try await client.preconnect(to: "https://img.shop.example/")
    /// ```
    ///
    /// A connection that is not used within ``Configuration/Connections/idleTimeout`` is closed. Over HTTP/2 one
    /// connection serves all requests. A connection that is already idle counts.
    /// - Parameters:
    ///   - url: Any URL of the origin; only its scheme, host and port count.
    ///   - connections: The number of concurrent connections for HTTP/1.1: 1 to 64; a larger number means 64. No more
    ///     are made than ``Configuration/Connections/maximumPerHost`` and ``Configuration/Connections/maximum`` leave
    ///     beside the requests in flight.
    ///   - change: A change of the client's options, such as time limits, addresses and HTTP versions.
    /// - Returns: The endpoints of the connections.
    /// - Throws: ``HTTPDNSClientError`` of the first connection that failed; others may have been made.
    ///   `CancellationError`.
    @discardableResult
    public func preconnect(
        to url: String,
        connections: Int = 1,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> [HTTPDNSEndpoint] {
        let pipeline = pipeline
        var request = pipeline.resolved(HTTPDNSClient.Request(method: .head, url: url, change))
        request.changeOptions { options in
            options.stopsBeforeSending = true
            options.keepsConnection = true
        }
        return try await withThrowingTaskGroup(of: HTTPDNSEndpoint.self) { [request] tasks in
            for _ in 0..<min(max(1, connections), 64) { tasks.addTask { try await pipeline.preconnect(request) } }
            var endpoints: [HTTPDNSEndpoint] = []
            for try await endpoint in tasks { endpoints.append(endpoint) }
            return endpoints
        }
    }
}

extension HTTPDNSClient {
    /// Connects to an address and verifies with TLS that it serves the name, with certificate and SNI as for a request.
    /// The connection is closed before a byte of a request is sent.
    /// - Parameters:
    ///   - host: The name.
    ///   - endpoint: The address to verify, and the port to connect to.
    ///   - timeLimit: The total time; the client's own limits apply as well.
    /// - Returns: The time that it took.
    /// - Throws: ``HTTPDNSClientError`` with code `certificateRefused` when the certificate is not valid for the name,
    ///   `policyRefused`, `connectFailed`, `timedOut`; `CancellationError`.
    package func proveIdentity(
        of host: HTTPDNSName,
        at endpoint: HTTPDNSEndpoint,
        timeLimit: Duration
    ) async throws -> Duration {
        let request = HTTPDNSClient.Request(method: .head, url: "https://\(host):\(endpoint.port)/") { options in
            options.addresses = .only([HTTPDNSClient.Request.Target(endpoint.address, port: endpoint.port)])
            (options.timeouts.total, options.timeouts.responseHead) = (timeLimit, nil)
            options.stopsBeforeSending = true
        }
        do {
            _ = try await execute(request)
        } catch {
            guard let error = error as? HTTPDNSClientError, let failure = error.underlying as? TransferFailure,
                failure.code == .connectOnly
            else { throw error }
            return failure.elapsed
        }
        // A request that is never sent has no response.
        throw HTTPDNSClientError(
            code: .transportFailed,
            phase: .tls,
            message: "the connection to \(endpoint) proved nothing",
            host: host.description
        )
    }
}
