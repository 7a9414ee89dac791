// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The lookups of a listener that other programs ask for the addresses of names.
///
/// Names that neither a mapping nor a route with providers decides are not its own: others know them.
struct ListenerLookup: Sendable {
    enum Outcome: Sendable {
        case notOurs
        case found(HTTPDNSResolver.Resolution)
        /// Nil is canceled.
        case failed(HTTPDNSResolver.Error?)
    }

    let resolver: HTTPDNSResolver
    /// The time within which each lookup is replied to.
    let timeLimit: Duration
    /// Whether names of routes that fall back to the system resolver are served. A process whose system resolver asks the listener must
    /// not.
    let servesFallback: Bool

    /// Returns the query for a name. It has no port: no rule of a mapping is for port 0, and only those for all ports match.
    func query(_ name: HTTPDNSName, _ family: HTTPDNSAddress.Family?) -> HTTPDNSResolver.Query {
        var query = HTTPDNSResolver.Query(.name(name), port: 0)
        query.families = family.map { $0 == .v4 ? .v4 : .v6 }
        query.timeLimit = timeLimit
        return query
    }

    /// Returns whether the name is decided here.
    func decides(_ query: HTTPDNSResolver.Query) -> Bool {
        resolver.decidesAlone(query, allowingFallback: servesFallback)
    }

    /// Returns the outcome that needs no wait; nil when ``awaited(_:)`` is to be asked.
    func immediate(_ query: HTTPDNSResolver.Query) -> Outcome? {
        guard decides(query) else { return .notOurs }
        do throws(HTTPDNSResolver.Error) {
            guard let resolution = try resolver.cached(query) else { return nil }
            return outcome(resolution, query)
        } catch {
            return .failed(error)
        }
    }

    func awaited(_ query: HTTPDNSResolver.Query) async -> Outcome {
        do {
            return outcome(try await resolver.resolve(query), query)
        } catch {
            return .failed(error as? HTTPDNSResolver.Error)
        }
    }

    private func outcome(_ resolution: HTTPDNSResolver.Resolution, _ query: HTTPDNSResolver.Query) -> Outcome {
        // The kill switch may have been turned meanwhile.
        resolution.source == .system && !decides(query) ? .notOurs : .found(resolution)
    }
}
#endif
