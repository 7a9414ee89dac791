internal import Synchronization

/// The marks that the cache and its users set on a cached answer: one byte, without a lock.
private enum Mark {
    /// It was used since the cache last checked.
    static let used: UInt8 = 1
    /// An event was sent that the answer is served past its lifetime.
    static let toldStale: UInt8 = 2
}

extension CachedAnswer {
    /// Marks the answer as used. The mark is written only once, because other threads read the same memory.
    func noteUse() {
        if !wasUsed { places.marks.pointee.bitwiseOr(Mark.used, ordering: .relaxed) }
    }

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
}
