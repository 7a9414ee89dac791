internal import HTTPDNSPrimitives

/// What answers by a route rest on: the same object for as long as nothing changes that an answer depends on. A cached
/// answer is used while the basis of its name is the one that it came by.
package final class RouteBasis: Sendable {
    private let named: Lock<HTTPDNSRoute?>
    /// Where questions about its names are counted.
    let counting: RouteCounting

    /// - Parameter counting: Nil counts for nobody.
    package init(_ route: HTTPDNSRoute?, counting: RouteCounting? = nil) {
        named = Lock(route)
        self.counting = counting ?? RouteCounting()
    }

    /// The route as it stands in the settings now; nil for names without one.
    var route: HTTPDNSRoute? { named.withLock { $0 } }

    /// The route has moved in its file, or changed in what answers do not depend on.
    func rename(_ route: HTTPDNSRoute?) { named.withLock { $0 = route } }
}

extension HTTPDNSRoute {
    /// What answers by it depend on; the rest says for whom it is, and what becomes of them.
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
