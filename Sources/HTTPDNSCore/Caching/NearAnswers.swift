#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The answers that one thread used last, of all caches. It finds them again without a lock, and without writing to memory
/// that another thread reads: a lock costs as much as the look-up itself, and several times that as soon as two threads want it.
///
/// What is here may be used as long as the cache says of the very answer that it stands: whoever replaces or removes it marks
/// it first (``CachedAnswer/supersede()``). An answer that a thread uses all the time becomes a copy of its own, since
/// counting references to one object from many threads is as slow as a lock.
///
/// A view of memory that belongs to the thread: it must not be kept, or leave the thread.
struct NearAnswers {
    private struct Entry {
        /// Which key of which cache; see ``tag(of:in:)``.
        var tag: UInt64 = 0
        /// The mark on the answer in the cache, and the text of what is used.
        var places: CachedAnswer.Places?
        /// What is used: the answer in the cache, or the thread's own copy.
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
        /// Counts uses, and answers kept: each 64th use is looked at, and places are given up in turn.
        var ticks: UInt64 = 0
        /// The tag of the use that was looked at last.
        var lastTag: UInt64 = 0
    }

    private let state: UnsafeMutablePointer<State>

    /// As many as a cache has places by default: 192 KiB a thread, which the system gives page by page as they are used.
    private static let setCount = 1024
    private static let ways = 4

    /// Nil where the system has no thread-local storage left.
    private static let threadKey: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, release) == 0 ? key : nil
    }()

    #if canImport(Darwin)
    private static let release: @convention(c) (UnsafeMutableRawPointer) -> Void = { end($0) }
    #else
    private static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
        if let memory = $0 { end(memory) }
    }
    #endif

    /// Those of the thread that asks; nil when it has no memory for them.
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

    /// What tells a key of one cache under the settings with one number from all others, once the key itself is compared: one
    /// name has the same hash in all caches, and an odd factor keeps different numbers different. A process makes fewer caches
    /// than 48 bits can number.
    @inline(__always)
    static func tag(of key: AnswerKey, in cache: UInt64, epoch: UInt16) -> UInt64 {
        key.hash ^ (cache << 16 | UInt64(epoch)) &* 0x9e37_79b9_7f4a_7c15
    }

    /// The answer for a key, if this thread has it and it still stands in its cache.
    @inline(__always)
    func find(_ key: AnswerKey, tag: UInt64) -> CachedAnswer? {
        let set = state.pointee.entries + set(of: tag)
        for way in 0..<NearAnswers.ways where set[way].tag == tag {
            guard let places = set[way].places, places.noteUse(), places.match(key) else { continue }
            state.pointee.ticks &+= 1
            if state.pointee.ticks & 63 == 0 { look(at: set + way) }
            return set[way].answer
        }
        return nil
    }

    /// Keeps an answer that came out of the cache, in the place of one that does not stand any more, or of any.
    func keep(_ answer: CachedAnswer, tag: UInt64) {
        let set = state.pointee.entries + set(of: tag)
        state.pointee.ticks &+= 1
        let free = (0..<NearAnswers.ways).first { way in
            set[way].tag == tag || set[way].original.map { !$0.stands } ?? true
        }
        set[free ?? Int(state.pointee.ticks % UInt64(NearAnswers.ways))] = Entry(tag: tag, answer, using: answer)
    }

    /// Two looks in a row at one answer, 64 uses apart, tell that the thread uses little else.
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
