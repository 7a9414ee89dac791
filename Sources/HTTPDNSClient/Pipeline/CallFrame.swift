internal import Synchronization

/// One call of a client that has interceptors, as calls nested in it see it.
final class CallFrame: Sendable {
    /// The innermost call that the present task runs in.
    @TaskLocal static var current: CallFrame?

    /// How many calls of one client may be inside each other, beyond the outermost. A token fetched for a token fetched
    /// for a request is 2; whoever needs more has most likely forgotten that its own calls come back to it.
    static let maximumDepth = 8

    /// How deep the call is inside others of its client.
    let depth: Int
    private let client: ObjectIdentifier
    private let parent: CallFrame?
    private let sent = Atomic(false)
    private let hops = Atomic(0)

    init(client: AnyObject) {
        let client = ObjectIdentifier(client)
        let parent = CallFrame.current
        var frame = parent
        while let candidate = frame, candidate.client != client { frame = candidate.parent }
        depth = frame.map { $0.depth + 1 } ?? 0
        self.client = client
        self.parent = parent
    }

    /// Whether any transfer of the call may have reached its server, whatever became of the last one.
    var mayHaveSent: Bool { sent.load(ordering: .relaxed) }

    /// A number for the next hop of the call, from 0.
    func nextHop() -> Int { hops.wrappingAdd(1, ordering: .relaxed).oldValue }

    func noteSent() { sent.store(true, ordering: .relaxed) }
}
