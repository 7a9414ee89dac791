internal import HTTPDNSPrimitives

/// The identity of a route's settings: the same object for as long as nothing changes that an answer depends on.
///
/// A cached answer is used while its name still has the identity that the answer was received under.
package final class RouteIdentity: Sendable {
    private let named: Lock<HTTPDNSRoute?>
    /// The counters of queries for its names.
    let counting: RouteCounting

    /// - Parameter counting: The counters; nil means counters that are not read.
    package init(_ route: HTTPDNSRoute?, counting: RouteCounting? = nil) {
        named = Lock(route)
        self.counting = counting ?? RouteCounting()
    }

    /// The route as it is in the present settings; nil for names without one.
    var route: HTTPDNSRoute? { named.withLock { $0 } }

    /// Replaces the route after it has moved in its file, or changed in parts that answers do not depend on.
    func rename(_ route: HTTPDNSRoute?) { named.withLock { $0 = route } }
}

extension HTTPDNSRoute {
    /// The part of the route that answers depend on, without the names it covers and the use of its answers.
    var answering: HTTPDNSRoute {
        var route = self
        route.location = nil
        route.isEnabled = true
        route.rollout = nil
        route.mode = .use
        route.connectFallback = nil
        route.order = .given
        return route
    }
}
