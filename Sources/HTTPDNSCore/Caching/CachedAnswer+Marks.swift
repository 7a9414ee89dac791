internal import Synchronization

/// What is marked on an answer while it stands in a cache, by whoever uses it and by the cache: one byte, without a lock.
private enum Mark {
    /// It was used since the cache looked last.
    static let used: UInt8 = 1
    /// The cache has something newer, or has let it go.
    static let superseded: UInt8 = 2
    /// It was told that the answer serves past its life.
    static let toldStale: UInt8 = 4
}

extension CachedAnswer.Places {
    /// Notes that the answer was used, unless its cache has let go of it. Written once only, for other threads read the memory
    /// that it stands in.
    /// - Returns: Whether the cache still has it.
    @inline(__always)
    func noteUse() -> Bool {
        let seen = marks.pointee.load(ordering: .acquiring)
        if seen & (Mark.used | Mark.superseded) == Mark.used { return true }
        guard seen & Mark.superseded == 0 else { return false }
        marks.pointee.bitwiseOr(Mark.used, ordering: .relaxed)
        return true
    }
}

extension CachedAnswer {
    /// Notes that it was used.
    func noteUse() { _ = places.noteUse() }

    /// Whether its cache still has it.
    var stands: Bool { places.marks.pointee.load(ordering: .acquiring) & Mark.superseded == 0 }

    /// Whether it was used since its cache looked last.
    var wasUsed: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.used != 0 }

    /// Whether it was told that it serves past its life.
    var isToldStale: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.toldStale != 0 }

    /// Notes that it is told that it serves past its life.
    /// - Returns: Whether it was not before.
    @discardableResult
    func noteToldStale() -> Bool {
        places.marks.pointee.bitwiseOr(Mark.toldStale, ordering: .relaxed).oldValue & Mark.toldStale == 0
    }

    /// Forgets that it was used.
    func forgetUse() { places.marks.pointee.bitwiseAnd(~Mark.used, ordering: .relaxed) }

    /// Says that its cache does not have it any more. Those who got it before may go on using it.
    func supersede() { places.marks.pointee.bitwiseOr(Mark.superseded, ordering: .releasing) }
}
