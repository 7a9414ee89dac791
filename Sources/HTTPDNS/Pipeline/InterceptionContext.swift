internal import HTTPDNSCore
public import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient {
    /// What travels with a request through the stages, and never on the wire.
    public struct InterceptionContext: Sendable {
        /// A number for the call, unique in the process.
        public let callID: UInt64
        /// Which hop of the call this is, from 0: a second `next` of an application interceptor begins hop 1. Application
        /// interceptors themselves, which are above all hops, see 0.
        public internal(set) var hop: Int
        /// The moment at which the whole call ends, with its body, on `SystemTimeSource`; nil when nothing limits it as a
        /// whole.
        public let deadline: MonotonicTime?
        /// How deep this call is inside other calls of the same client, from 0.
        public let depth: Int

        /// Whether the request that this interceptor was given is for another origin than ``initialOrigin``.
        ///
        /// A redirect leads there, or an interceptor further out has changed the URL. The target of a redirect is untrusted
        /// input: an interceptor that adds a credential adds none while this is true. It is false again when a redirect leads
        /// back to the first origin, with a path that the other server has chosen. The scheme and the port are part of an
        /// origin, so an upgrade from http to https changes it.
        public var isCrossOrigin: Bool {
            guard requestURL != initialURL else { return false }
            guard let initial = initialOrigin, let own = HTTPDNSClient.Origin(requestURL) else { return true }
            return own != initial
        }

        /// The origin of the call. For network interceptors it is that of the request which the application interceptors have
        /// passed on, for application interceptors that of the caller's request. `nil` for a URL that cannot be read, which
        /// fails the call.
        public var initialOrigin: HTTPDNSClient.Origin? { HTTPDNSClient.Origin(initialURL) }

        /// The URL that the call begins with. Empty for a call without interceptors: nothing reads it there.
        var initialURL = ""
        /// The URL of the request that the interceptor is given.
        var requestURL = ""

        /// What a stage further out made of the request. Only the stages that this copy is passed to see it: a second `next`
        /// of an interceptor above that stage starts without.
        package internal(set) var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The mark that goes with it.
        package var tag: HTTPDNSRewriter.Tag? { rewritten?.tag }

        /// What the hops before this one say about it.
        var way = HopWay()
        var call: CallTime
        /// The networks that the call's own request says it may reach.
        let reachableNetworks: HTTPDNSClient.ReachableNetworks
        /// Nil for a call that compresses nothing.
        let compressed: CompressedOnce?
        /// Nil for a client without interceptors, whose calls cannot nest.
        let frame: CallFrame?
        /// The settings that the hop is made by, see ``Pipeline/isStale(_:)``; nil for a connection without a request.
        var settingsNumber: UInt64?
        /// The fields that the client added to the hop's request by these settings.
        var addedFields = HTTPFields()
        /// The hop's place among those that may be on their way; nil where nothing is limited.
        var place: AdmissionPlace?
    }
}

/// When a call began and how long it may take.
struct CallTime: Sendable {
    let start: MonotonicTime
    /// For the call with its body.
    let limit: Duration?
    /// For the response head, from ``headStart`` on.
    let headLimit: Duration?
    private var headStart: MonotonicTime

    /// - Parameters:
    ///   - own: The limit of the request.
    ///   - settings: Those of the client, for a request without a limit of its own.
    init(_ own: HTTPDNSClient.TimeLimit, _ settings: CallSettings) {
        start = SystemTimeSource().now()
        headStart = start
        limit = own.duration(inheriting: settings.total)
        headLimit = own.isInherited ? settings.responseHead : nil
    }

    /// The moment at which the body must have ended.
    var deadline: MonotonicTime? { limit.map { start + $0 } }
    /// The moment at which the head must be there.
    var headDeadline: MonotonicTime? { headLimit.map { headStart + $0 } }
    /// The moment at which all that comes before the head must have ended.
    var firstDeadline: MonotonicTime? {
        guard let head = headDeadline else { return deadline }
        return deadline.map { min($0, head) } ?? head
    }
    /// The limit that ``firstDeadline`` comes from.
    var firstLimit: Duration? { firstDeadline == deadline ? limit : headLimit }
    var elapsed: Duration { SystemTimeSource().now() - start }

    /// Lets the time for the head begin again after a hop.
    /// - Parameter request: What the hop sent. A long body must not take the time of the next hop.
    mutating func nextHop(after request: HTTPDNSClient.Request) {
        if !request.body.isEmpty { headStart = SystemTimeSource().now() }
    }
}

/// What a redirect or a retry asks of the next hop, besides its request.
struct HopWay: Sendable {
    /// How far the server reaches that redirected here; nil for a URL of the caller's.
    var redirectedFrom: HTTPDNSAddressPolicy.Scope?
    /// Whether the hop is for another origin than the one that the caller named.
    var isForeign = false
    /// Answers of providers older than this, on the resolver's clock, are asked for anew.
    var freshAfter: MonotonicTime?
    /// What stayed behind on the way to this hop.
    var droppedFields: [HTTPField.Name] = []
}
