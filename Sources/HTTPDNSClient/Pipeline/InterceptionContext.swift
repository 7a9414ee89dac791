internal import HTTPDNS
public import HTTPDNSPrimitives
internal import HTTPTypes

/// What travels with a request through the stages, and never on the wire.
public struct InterceptionContext: Sendable {
    /// A number for the call, unique in the process.
    public let callID: UInt64
    /// Which hop of the call this is, from 0: a second `next` of an application interceptor begins hop 1. Application
    /// interceptors themselves, which are above all hops, see 0.
    public internal(set) var hop: Int
    /// When the whole call ends, on `SystemTimeSource`.
    public let deadline: MonotonicTime?
    /// How deep this call is inside other calls of the same client, from 0.
    public let depth: Int

    /// What a stage further out made of the request. Only the stages that this copy is passed to see it: a second `next`
    /// of an interceptor above that stage starts without.
    package internal(set) var rewritten: RewrittenRequest?
    /// The mark that goes with it.
    package var tag: Tag? { rewritten?.tag }

    /// What the hops before this one say about it.
    var way = HopWay()
    let call: CallTime
    /// Nil for a call that compresses nothing.
    let compressed: CompressedOnce?
    /// Nil for a client without interceptors, whose calls cannot nest.
    let frame: CallFrame?
    /// The hop's place among those that may be on their way; nil where nothing is limited.
    var place: AdmissionPlace?
}

/// When a call began and how long it may take.
struct CallTime: Sendable {
    let start: MonotonicTime
    let limit: Duration?

    var deadline: MonotonicTime? { limit.map { start + $0 } }
    var elapsed: Duration { SystemTimeSource().now() - start }
}

/// What a redirect or a retry asks of the next hop, besides its request.
struct HopWay: Sendable {
    /// How far the server reaches that redirected here; nil for a URL of the caller's.
    var redirectedFrom: AddressScope?
    /// Whether the hop is for another origin than the one that the caller named.
    var isForeign = false
    /// Answers of providers older than this, on the resolver's clock, are asked for anew.
    var freshAfter: MonotonicTime?
    /// What stayed behind on the way to this hop.
    var droppedFields: [HTTPField.Name] = []
}
