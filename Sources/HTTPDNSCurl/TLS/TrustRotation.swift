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
        case unchanged
        /// The same files were tested before and could not be used.
        case refusedBefore
        case changed
    }

    /// The minimum interval between checks of the files: a check is a stat(2) for each.
    static let lookInterval: Duration = .seconds(1)

    private(set) var generation = 1
    private var files: Files
    private var refused: Files?
    private var nextLook: MonotonicTime
    /// The requests that are about to be handed to the loop of the newest generation.
    private var executing = 0
    /// The same requests of the older generations, by generation.
    private var executingOnOlder: [Int: Int] = [:]

    init(_ files: Files, at now: MonotonicTime) {
        self.files = files
        nextLook = now + TrustRotation.lookInterval
    }

    /// Returns whether the caller must check the files now.
    mutating func shouldLook(at now: MonotonicTime) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + TrustRotation.lookInterval
        return true
    }

    /// Whether a caller of ``shouldLook(at:)`` would have to check the files now.
    func isLookDue(at now: MonotonicTime) -> Bool { now >= nextLook }

    /// Compares the files that a check has found.
    func compare(with found: Files) -> Finding {
        if found == files { return .unchanged }
        return found == refused ? .refusedBefore : .changed
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
