internal import Glibc

/// The answers that one thread used last, from all caches.
///
/// They are found again without a lock, and without writes to memory that another thread reads. A lock costs as much as the
/// lookup itself, and several times that when two threads contend for it.
///
/// An answer may be used until its cache marks it as removed: a replacement or removal sets the mark first
/// (``CachedAnswer/supersede()``). An answer that a thread uses all the time is copied for that thread. Counting references
/// to one object from many threads would be as slow as a lock.
///
/// A view of memory that belongs to the thread: it must not be kept, or leave the thread.
struct NearAnswers {
    private struct Entry {
        /// The identification of a key and its cache; see ``tag(of:in:epoch:)``.
        var tag: UInt64 = 0
        /// The mark of the cached answer, and the bytes of the used one.
        var places: CachedAnswer.Places?
        /// The used answer: the one in the cache, or the thread's own copy.
        var answer: CachedAnswer?
        /// The answer in the cache, kept for its mark.
        var original: CachedAnswer?

        init() {}

        init(tag: UInt64, _ original: CachedAnswer, using answer: CachedAnswer) {
            self.tag = tag
            self.original = original
            self.answer = answer
            places = CachedAnswer.Places(
                header: answer.places.header,
                marks: original.places.marks,
                name: answer.places.name
            )
        }
    }

    private struct State {
        let entries: UnsafeMutablePointer<Entry>
        /// A count of uses and of kept answers: each 64th use is checked, and positions are reused in turn.
        var ticks: UInt64 = 0
        /// The tag of the last checked use.
        var lastTag: UInt64 = 0
    }

    private let state: UnsafeMutablePointer<State>

    /// As many as a cache has entries by default: 192 KiB for each thread, which the system allocates page by page on first
    /// use.
    private static let setCount = 1024
    private static let ways = 4

    /// Nil where the system has no thread-local storage left.
    private static let threadKey: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, release) == 0 ? key : nil
    }()

    private static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
        if let memory = $0 { end(memory) }
    }

    /// The answers of the present thread; nil when it has no memory for them.
    @inline(__always)
    static var ofThisThread: NearAnswers? {
        guard let key = threadKey else { return nil }
        if let memory = pthread_getspecific(key) {
            return NearAnswers(state: memory.assumingMemoryBound(to: State.self))
        }
        return begin(key)
    }

    private static func begin(_ key: pthread_key_t) -> NearAnswers? {
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: setCount * ways)
        entries.initialize(repeating: Entry(), count: setCount * ways)
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State(entries: entries))
        guard pthread_setspecific(key, state) == 0 else {
            end(state)
            return nil
        }
        return NearAnswers(state: state)
    }

    private static func end(_ memory: UnsafeMutableRawPointer) {
        let state = memory.assumingMemoryBound(to: State.self)
        let entries = state.pointee.entries
        entries.deinitialize(count: setCount * ways)
        entries.deallocate()
        state.deallocate()
    }

    /// Returns the tag of a key of one cache under one version of the settings. It differs from all others once the key
    /// itself is compared.
    ///
    /// One name has the same hash in all caches, and an odd factor keeps different numbers different. A process creates fewer
    /// caches than 48 bits can number.
    @inline(__always)
    static func tag(of key: CacheKey, in cache: UInt64, epoch: UInt16) -> UInt64 {
        key.hash ^ (cache << 16 | UInt64(epoch)) &* 0x9e37_79b9_7f4a_7c15
    }

    /// Returns the answer for a key, if this thread has it and its cache still has it.
    @inline(__always)
    func find(_ key: CacheKey, tag: UInt64) -> CachedAnswer? {
        let set = state.pointee.entries + set(of: tag)
        for way in 0..<NearAnswers.ways where set[way].tag == tag {
            guard let places = set[way].places, places.noteUse(), places.match(key) else { continue }
            state.pointee.ticks &+= 1
            if state.pointee.ticks & 63 == 0 { look(at: set + way) }
            return set[way].answer
        }
        return nil
    }

    /// Keeps an answer from the cache. It replaces one that its cache has removed, or any other.
    func keep(_ answer: CachedAnswer, tag: UInt64) {
        let set = state.pointee.entries + set(of: tag)
        state.pointee.ticks &+= 1
        let free = (0..<NearAnswers.ways).first { way in
            set[way].tag == tag || set[way].original.map { !$0.stands } ?? true
        }
        set[free ?? Int(state.pointee.ticks % UInt64(NearAnswers.ways))] = Entry(tag: tag, answer, using: answer)
    }

    /// Checks a use of an answer. Two checks in a row with the same answer, 64 uses apart, show that the thread uses little
    /// else.
    private func look(at entry: UnsafeMutablePointer<Entry>) {
        defer { state.pointee.lastTag = entry.pointee.tag }
        guard state.pointee.lastTag == entry.pointee.tag, let original = entry.pointee.original,
            entry.pointee.answer?.isIdentical(to: original) == true
        else { return }
        entry.pointee = Entry(tag: entry.pointee.tag, original, using: original.copied())
    }

    @inline(__always)
    private func set(of tag: UInt64) -> Int {
        (Int(truncatingIfNeeded: tag >> 16) & (NearAnswers.setCount - 1)) * NearAnswers.ways
    }
}
