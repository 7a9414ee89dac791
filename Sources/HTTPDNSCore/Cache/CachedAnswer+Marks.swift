internal import Synchronization

/// The marks that the cache and its users set on a cached answer: one byte, without a lock.
private enum Mark {
    /// It was used since the cache last checked.
    static let used: UInt8 = 1
    /// The cache has a newer answer, or has removed it.
    static let superseded: UInt8 = 2
    /// An event was sent that the answer is served past its lifetime.
    static let toldStale: UInt8 = 4
}

extension CachedAnswer.Places {
    /// Marks the answer as used, unless its cache has removed it.
    ///
    /// The mark is written only once, because other threads read the same memory.
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
    /// Marks the answer as used.
    func noteUse() { _ = places.noteUse() }

    /// Whether its cache still has it.
    var stands: Bool { places.marks.pointee.load(ordering: .acquiring) & Mark.superseded == 0 }

    /// Whether it was used since its cache last checked.
    var wasUsed: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.used != 0 }

    /// Whether an event was sent that it is served past its lifetime.
    var isToldStale: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.toldStale != 0 }

    /// Records that an event is sent that it is served past its lifetime.
    /// - Returns: Whether none was sent before.
    @discardableResult
    func noteToldStale() -> Bool {
        places.marks.pointee.bitwiseOr(Mark.toldStale, ordering: .relaxed).oldValue & Mark.toldStale == 0
    }

    /// Clears the mark of use.
    func forgetUse() { places.marks.pointee.bitwiseAnd(~Mark.used, ordering: .relaxed) }

    /// Marks the answer as removed from its cache. Callers that hold it may continue to use it.
    func supersede() { places.marks.pointee.bitwiseOr(Mark.superseded, ordering: .releasing) }
}
