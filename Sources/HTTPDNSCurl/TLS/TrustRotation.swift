// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The state of the files behind ``HTTPDNSTrust``, and of the loops that use them. A value type, so that it is tested without
/// files or threads.
///
/// Each reading of the files is a generation with a loop of its own. New requests use the newest; an older one ends with the
/// last request that began on it.
struct TrustRotation {
    /// The files at the paths of the settings, in their order.
    typealias Files = [FileSignature?]

    enum Finding: Equatable {
        /// No files were read yet.
        case first
        case unchanged
        /// The same files were tested before and could not be used.
        case refusedBefore
        case changed
    }

    /// The action of a request before it begins.
    enum Step: Equatable {
        /// The files in use are recent enough.
        case use
        /// A check begins, and the request does not wait for it: its result is for later requests.
        case begin
        /// The check takes too long. The request does not wait for it, and reports it.
        case report
        /// The last check is too old: the request waits for the next one, and goes on without it at the given time.
        case wait(until: MonotonicTime)
        /// Nothing was read yet: the request waits as long as its own limits allow.
        case waitForFirst
    }

    /// The minimum interval between checks of the files: a check is a stat(2) for each.
    static let lookInterval: Duration = .seconds(1)
    /// The age of the last check from which requests wait for the next one. Otherwise a client with a request in an hour would
    /// use the certificates of an hour ago.
    static let maximumAge: Duration = .seconds(10)
    /// The time that a check may delay requests.
    static let patience: Duration = .seconds(1)
    /// The time after which a check is reported: its file system does not answer.
    static let reportAge: Duration = .seconds(5)

    private(set) var generation = 1
    /// `nil` before the first reading.
    private var files: Files?
    private var refused: Files?
    /// The end of the last check.
    private var lookedAt: MonotonicTime
    /// The start of the check in progress.
    private var lookBegan: MonotonicTime?
    private var hasReported = false
    /// The requests that are about to be handed to the loop of the newest generation.
    private var executing = 0
    /// The same requests of the older generations, by generation.
    private var executingOnOlder: [Int: Int] = [:]

    /// - Parameter files: `nil` when they were not read yet.
    init(_ files: Files?, at now: MonotonicTime) {
        self.files = files
        lookedAt = now
    }

    /// Returns the action of a request. After `begin`, and after `wait`, the caller must begin a check unless one is in progress,
    /// and report its end to ``lookEnded(at:)``.
    mutating func step(at now: MonotonicTime) -> Step {
        guard let files else { return .waitForFirst }
        let age = now - lookedAt
        guard !files.isEmpty, age >= TrustRotation.lookInterval else { return .use }
        guard let began = lookBegan else {
            (lookBegan, hasReported) = (now, false)
            return age >= TrustRotation.maximumAge ? .wait(until: now + TrustRotation.patience) : .begin
        }
        if now - began >= TrustRotation.reportAge, !hasReported {
            hasReported = true
            return .report
        }
        let end = began + TrustRotation.patience
        return age >= TrustRotation.maximumAge && now < end ? .wait(until: end) : .use
    }

    /// Notes the end of a check.
    mutating func lookEnded(at now: MonotonicTime) {
        (lookedAt, lookBegan) = (now, nil)
    }

    /// Compares the files that a check has found.
    func compare(with found: Files) -> Finding {
        guard let files else { return .first }
        if found == files { return .unchanged }
        return found == refused ? .refusedBefore : .changed
    }

    /// Accepts the files of the first reading.
    mutating func begin(with files: Files) {
        self.files = files
    }

    /// Begins a request on the newest generation.
    mutating func begin() -> Int {
        executing += 1
        return generation
    }

    /// Notes that a request was handed to its loop, or could not begin.
    /// - Returns: Whether its generation gets no more requests and can be closed.
    mutating func end(_ generation: Int) -> Bool {
        guard generation != self.generation else {
            executing = max(0, executing - 1)
            return false
        }
        let left = (executingOnOlder[generation] ?? 1) - 1
        executingOnOlder[generation] = left > 0 ? left : nil
        return left <= 0
    }

    /// Accepts the files: from now on requests begin on a new generation.
    /// - Returns: The generation before, if no request is about to use it; otherwise ``end(_:)`` returns true for it later.
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

    /// Rejects the files: the current generation stays.
    mutating func refuse(_ files: Files) {
        refused = files
    }
}

/// The properties of a file that change when it is replaced or written to.
struct FileSignature: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int]
    private let changed: [Int]

    /// Creates the signature of the file at the path, following links as Kubernetes swaps them; `nil` when there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int64(status.st_size)
        modified = [Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
        changed = [Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec)]
    }
}
