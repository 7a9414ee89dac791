// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
public import HTTPDNSPrimitives

/// A store that keeps answers in one file, so that the first requests after a restart need no lookup.
///
/// - The file is replaced in one step (a temporary file in the same folder, `fsync`, `rename`). It is always a complete file,
///   old or new, also after a crash and with several processes that write it. The last writer wins. A file that is a mount of
///   its own is written in place: its checksum refuses it after a crash during that.
/// - It is readable and writable for its owner alone (mode 0600). A file is refused if it belongs to another user, is writable
///   for others, or is a symbolic link: its writer decides where requests go, within the address policy.
/// - It has a checksum (CRC-32C). A truncated or accidentally altered file is refused as a whole.
/// - An existing file that is no snapshot, or belongs to another user, is never replaced.
///
/// The work runs on a dedicated thread. Saves of one value run one after the other, in the order of the calls.
///
/// The folder must exist; choose one that no other user may write.
public final class HTTPDNSDiskStore: HTTPDNSResolutionStore {
    private let file: SnapshotFile
    private let maximumBytes: Int
    private let maximumEntries: Int
    private let wallClock: WallClock
    private let work: SerialWork
    private let hasRemovedLeftovers = Lock(false)

    /// Creates a store; nothing is read or written yet.
    /// - Parameters:
    ///   - path: The path of the file. A relative path starts at the working directory at the time of each call.
    ///   - maximumBytes: The largest file that is written or read, 64 KiB at least. An answer typically takes 80 to 120 bytes.
    ///   - maximumEntries: The maximum number of answers that are written or returned, at least 1. The answers received last
    ///     are kept.
    public convenience init(
        path: String,
        maximumBytes: HTTPDNSByteCount = .mebibytes(4),
        maximumEntries: Int = 65_536
    ) {
        self.init(
            path: path,
            maximumBytes: max(maximumBytes, .kibibytes(64)).bytes,
            maximumEntries: maximumEntries,
            wallClock: .system
        )
    }

    /// - Parameter wallClock: The clock for the age of temporary files that crashed processes left behind.
    init(
        path: String,
        user: uid_t = geteuid(),
        maximumBytes: Int = HTTPDNSByteCount.mebibytes(4).bytes,
        maximumEntries: Int = 65_536,
        wallClock: WallClock,
        work: SerialWork = SerialWork()
    ) {
        file = SnapshotFile(path: path, user: user)
        self.maximumBytes = maximumBytes
        self.maximumEntries = max(1, maximumEntries)
        self.wallClock = wallClock
        self.work = work
    }

    /// Returns the answers in the file, those received last first; none when there is no file.
    ///
    /// Of several answers for the same key the newest is returned.
    /// - Throws: ``HTTPDNSResolutionStoreError``; no part of the file is used then. `CancellationError` as soon as the task is
    ///   canceled.
    public func load() async throws -> [HTTPDNSStoredResolution] {
        try await run(.notReadable) { [file, maximumBytes, maximumEntries] in
            guard let octets = try file.contents(maximumBytes: maximumBytes) else { return [] }
            return HTTPDNSStoredResolution.freshest(of: try file.decode(octets), limit: maximumEntries)
        }
    }

    /// Replaces the file.
    ///
    /// It has at most as many answers and bytes as the limits allow, those received last first. Left out are answers without an
    /// address, with an address of a family that was not queried, or with a text of more than 65,535 bytes.
    ///
    /// The first call also removes temporary files that crashed processes left behind ten minutes ago or earlier.
    /// - Throws: ``HTTPDNSResolutionStoreError``; the earlier contents are still there then. `CancellationError` as soon as the
    ///   task is canceled; the file may still be replaced.
    public func save(_ resolutions: [HTTPDNSStoredResolution]) async throws {
        try await run(.notWritable) { [self] in
            let isFirst = hasRemovedLeftovers.withLock { done in
                defer { done = true }
                return !done
            }
            if isFirst { file.removeLeftovers(wallNow: wallClock.now()) }
            let freshest = HTTPDNSStoredResolution.freshest(of: resolutions, limit: maximumEntries)
            try file.replace(with: SnapshotEncoder.encode(freshest, maximumBytes: maximumBytes))
        }
    }

    /// Returns whether both are the same object, or stores of the same file with the same limits, or there is none.
    package static func isSame(
        _ left: (any HTTPDNSResolutionStore)?,
        _ right: (any HTTPDNSResolutionStore)?
    ) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        if let left = left as? HTTPDNSDiskStore, let right = right as? HTTPDNSDiskStore {
            return left.file.path == right.file.path && left.maximumBytes == right.maximumBytes
                && left.maximumEntries == right.maximumEntries
        }
        guard type(of: left) is AnyClass, type(of: right) is AnyClass else { return false }
        return (left as AnyObject) === (right as AnyObject)
    }

    private func run<Value: Sendable>(
        _ code: HTTPDNSResolutionStoreError.Code,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await work.run(body)
        } catch is SerialWork.NoThread {
            throw file.failure(code, "the system gives no thread for it; check the limit of processes (ulimit -u)")
        }
    }
}

extension SnapshotFile {
    func decode(_ octets: [UInt8]) throws(HTTPDNSResolutionStoreError) -> [HTTPDNSStoredResolution] {
        do throws(SnapshotFault) {
            return try SnapshotDecoder.decode(octets)
        } catch {
            switch error {
            case .foreign:
                throw failure(.corrupt, "it is something else than a snapshot; check the path, or remove the file")
            case .unsupportedVersion(let version):
                throw failure(
                    .unsupportedVersion,
                    "its format is version \(version), and this program knows \(SnapshotFormat.version); "
                        + "it is replaced when answers are saved"
                )
            case .corrupt(let offset, let reason):
                throw failure(
                    .corrupt,
                    "byte \(offset): \(reason); it was cut off or altered, and is replaced when answers are saved"
                )
            }
        }
    }
}
