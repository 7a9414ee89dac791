internal import HTTPDNSPrimitives

/// What is known of the files behind ``HTTPDNSTrust``, and which loop serves what: a value, so that it is tested without
/// files or threads.
///
/// Each reading of the files is a generation with a loop of its own. New requests go to the newest; an older one ends when
/// the last request that was begun on it has.
struct TrustRotation {
    /// What the paths of the settings lead to, in their order.
    typealias Files = [FileSignature?]

    enum Finding: Equatable {
        case unchanged
        /// The same files were tried before and could not be used.
        case refusedBefore
        case changed
    }

    /// How often the files are looked at, at most: a look is a stat(2) for each.
    static let lookInterval: Duration = .seconds(1)

    private(set) var generation = 1
    private var files: Files
    private var refused: Files?
    private var nextLook: MonotonicTime
    /// Requests of the newest generation whose head is awaited.
    private var executing = 0
    /// The same of those before it, by generation.
    private var executingOnOlder: [Int: Int] = [:]

    init(_ files: Files, at now: MonotonicTime) {
        self.files = files
        nextLook = now + TrustRotation.lookInterval
    }

    /// Whether it is time to look at the files; whoever is told so does it.
    mutating func shouldLook(at now: MonotonicTime) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + TrustRotation.lookInterval
        return true
    }

    /// A look has found `found`.
    func compare(with found: Files) -> Finding {
        if found == files { return .unchanged }
        return found == refused ? .refusedBefore : .changed
    }

    /// A request begins on the newest generation.
    mutating func begin() -> Int {
        executing += 1
        return generation
    }

    /// A request has its head, or failed.
    /// - Returns: Whether its generation takes no more requests and can be closed.
    mutating func end(_ generation: Int) -> Bool {
        guard generation != self.generation else {
            executing = max(0, executing - 1)
            return false
        }
        let left = (executingOnOlder[generation] ?? 1) - 1
        executingOnOlder[generation] = left > 0 ? left : nil
        return left <= 0
    }

    /// The files can be used: from now on requests begin on a new generation.
    /// - Returns: The generation before, if nobody is about to use it any more; else ``end(_:)`` will name it.
    mutating func replace(with files: Files) -> Int? {
        let before = generation
        self.files = files
        refused = nil
        generation += 1
        defer { executing = 0 }
        guard executing > 0 else { return before }
        executingOnOlder[before] = executing
        return nil
    }

    /// The files cannot be used: the generation that there is stays.
    mutating func refuse(_ files: Files) {
        refused = files
    }
}
