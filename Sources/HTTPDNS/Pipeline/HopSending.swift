package import HTTPDNSCurl
package import HTTPDNSPrimitives
package import HTTPTypes

/// The way to the wire, below all stages: libcurl's loop, or a script in tests.
package protocol HopSending: AnyObject, Sendable {
    /// Sends one hop and returns at the head of its response.
    /// - Parameter isStale: Whether other settings have taken the place of those that the request was made by. It is asked
    ///   when the trust settings for it are chosen.
    /// - Throws: ``TransferFailure``, ``StaleSettings``, `CancellationError`.
    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer

    /// Lets no later hop use a connection that is open now. Those in flight end on theirs.
    func retireConnections()

    /// The same for one host.
    func retireConnections(host: String)

    /// What connecting to endpoints has shown.
    var endpointRecords: [HTTPDNSClient.EndpointRecord] { get }

    /// The connections that are open, the largest pools first.
    var connectionPools: [HTTPDNSClient.ConnectionPool] { get }

    /// Hops that were begun and whose body has not ended.
    var transfersInFlight: Int { get }

    /// Refuses new hops, lets those in flight end for `duration`, cuts the rest. Idempotent.
    func shutdown(drainingFor duration: Duration) async
}

/// Other settings have taken the place of those that a hop was made by. Nothing of it was sent.
package struct StaleSettings: Error {
    package init() {}
}

extension HopSending {
    package func retireConnections() {}
    package func retireConnections(host: String) {}
    package var endpointRecords: [HTTPDNSClient.EndpointRecord] { [] }
    package var connectionPools: [HTTPDNSClient.ConnectionPool] { [] }
    package var transfersInFlight: Int { 0 }
}

/// The answer to one hop.
package struct HopAnswer: Sendable {
    package enum Body: Sendable {
        case transfer(TransferResponseBody)
        case chunks(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    package var head: HTTPResponse
    package var version: HTTPDNSClient.HTTPVersion
    package var endpoint: HTTPDNSEndpoint
    /// The endpoints that were tried before, and failed.
    package var failedAttempts: [TransferAttempt] = []
    package var reusedConnection: Bool
    /// How often the request was sent besides, because it had no answer in time.
    package var hedges = 0
    package var peerCertificates: [HTTPDNSClient.Exchange.PeerCertificate] = []
    package var timings: HTTPDNSClient.Exchange.Timings
    package var body: Body

    package init(
        head: HTTPResponse,
        version: HTTPDNSClient.HTTPVersion,
        endpoint: HTTPDNSEndpoint,
        reusedConnection: Bool,
        timings: HTTPDNSClient.Exchange.Timings,
        body: Body
    ) {
        self.head = head
        self.version = version
        self.endpoint = endpoint
        self.reusedConnection = reusedConnection
        self.timings = timings
        self.body = body
    }
}

extension HopAnswer {
    init(_ response: TransferResponse) {
        self.init(
            head: response.head,
            version: response.version,
            endpoint: response.endpoint,
            reusedConnection: response.reusedConnection,
            timings: response.timings,
            body: .transfer(response.body)
        )
        failedAttempts = response.failedAttempts
        hedges = response.hedges
        peerCertificates = response.peerCertificates
    }
}

extension Transport: HopSending {
    package func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer {
        HopAnswer(try await execute(request))
    }
}
