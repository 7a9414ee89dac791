// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The sender of hops, below all interceptors: libcurl's loop, or a script in tests.
package protocol HopSending: AnyObject, Sendable {
    /// Sends one hop and returns when its response head has arrived.
    /// - Parameter isStale: Whether other settings have replaced those that the request was made with. It is called
    ///   when the trust settings for it are chosen.
    /// - Returns: Nil for a hop whose settings were replaced. Nothing of it was sent.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer?

    /// Excludes all open connections from later hops. Hops in flight finish on theirs.
    func retireConnections()

    /// Excludes the open connections to one host from later hops.
    func retireConnections(host: String)

    /// The records of connection attempts to endpoints.
    var endpointRecords: [HTTPDNSClient.EndpointRecord] { get }

    /// The open connections, the largest pools first.
    var connectionPools: [HTTPDNSClient.ConnectionPool] { get }

    /// The number of hops that have begun and whose body has not ended.
    var transfersInFlight: Int { get }

    /// Refuses new hops, lets those in flight finish for `duration`, and cancels the rest. Idempotent.
    func shutdown(drainingFor duration: Duration) async
}

extension HopSending {
    package func retireConnections() {}
    package func retireConnections(host: String) {}
    package var endpointRecords: [HTTPDNSClient.EndpointRecord] { [] }
    package var connectionPools: [HTTPDNSClient.ConnectionPool] { [] }
    package var transfersInFlight: Int { 0 }
}

/// The response to one hop.
package struct HopAnswer: Sendable {
    package enum Body: Sendable {
        case transfer(TransferResponseBody)
        case chunks(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    /// The head, with the facts of its transfer.
    package let facts: TransferHead
    package var body: Body

    package init(_ facts: TransferHead, _ body: Body) {
        self.facts = facts
        self.body = body
    }
}

extension HopAnswer {
    /// Returns the body of the response. With content codings (RFC 9110 section 8.4) it is decoded when it is read, in the reader's
    /// task.
    ///
    /// The transport adds `Accept-Encoding` to the request (``TransferRequest/decodes``), as one line for all requests.
    /// - Parameter decodes: Whether the hop has requested codings. With a response cache the body stays as received, and
    ///   ``CacheableHop/decoded(_:of:)`` decodes it.
    func body(to method: HTTPRequest.Method, decodes: Bool, _ hop: HopRecord) -> HTTPDNSClient.Response.Body {
        let length = BodyLength(declaredBy: facts.head, to: method, decodes: decodes)
        guard facts.head.declaresCoding, decodes else {
            return HTTPDNSClient.Response.Body(body, of: hop, length: length)
        }
        let source: DecodedBody.Source =
            switch body {
            case .transfer(let body): .transfer(body)
            case .chunks(let chunks): .chunks(chunks)
            }
        return HTTPDNSClient.Response.Body(DecodedBody(source, of: facts.head, facts), of: hop, length: length)
    }
}

extension Transport: HopSending {
    package func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        let response = try await execute(request)
        return HopAnswer(response.facts, .transfer(response.body))
    }
}
