internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// This step is between the policy and the race: the wait for a connection.
extension Pipeline {
    /// Gets a connection permit for a hop, first among its client's, then among those of all clients of the transport.
    /// - Returns: The permit, and whether the hop had to wait for it; nil where connections are not limited.
    /// - Throws: ``HTTPDNSClientError`` with stage `queue`; `CancellationError`.
    func admit(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> (place: ConnectionPermit, hasWaited: Bool)? {
        let origin = HopOrigin(rewritten)
        let priority = request.options.priority
        var place: ConnectionPermit?
        var hasWaited = false
        do {
            for admission in admissions {
                let waited = try await admission.enter(
                    for: origin,
                    priority,
                    deadline: context.call.firstDeadline,
                    of: member
                )
                place = ConnectionPermit(admission, origin, outer: place)
                if waited { hasWaited = true }
            }
        } catch let failure as AdmissionFailure {
            throw HTTPDNSClientError(failure, context.call)
        }
        return place.map { ($0, hasWaited) }
    }

    /// Ends the waits of this client's hops.
    func endWaiting() {
        for admission in admissions { admission.close(member) }
    }

    /// The number of hops of this client, or of all clients of its transport, that wait for a connection.
    var waiting: Int { admissions.reduce(0) { $0 + $1.waiting } }
}

extension Admission {
    /// Creates an admission; nil where connections are not limited.
    convenience init?(_ connections: HTTPDNSClient.Configuration.Connections) {
        guard connections.perHost != nil || connections.total != nil else { return nil }
        self.init(
            Limits(
                queue: AdmissionQueue.Limits(
                    perHost: connections.perHost ?? .max,
                    total: connections.total ?? .max,
                    streams: min(connections.maximumStreams, AdmissionQueue.Limits().streams),
                    maximumWaiting: connections.maximumQueued
                ),
                wait: connections.queueWait
            )
        )
    }
}
