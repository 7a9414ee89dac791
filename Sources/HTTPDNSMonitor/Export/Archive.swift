// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPDNSTrafficMonitor {
    /// Records in the format HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as the bytes of a JSON text.
    ///
    /// Each hop of a call is an entry. A chunk has one entry, so the memory does not depend on the number of records. Facts without
    /// a member of the format, such as the source of an address, are in the member `_httpdns` of an entry.
    ///
    /// A time that is not known is -1. The time before the phases, such as the wait for a connection, is `blocked`. The sending of a
    /// request is not measured: `send` is 0.
    public struct Archive: AsyncSequence, Sendable {
        /// A part of the text.
        public typealias Element = [UInt8]
        /// Writing into memory never fails.
        public typealias Failure = Never

        private let records: [Record]

        /// Creates the archive of some records.
        public init(_ records: [Record]) { self.records = records }

        /// An iterator over the chunks.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var chunks: ArchiveChunks

            /// Returns the next chunk; nil at the end.
            public mutating func next() async -> [UInt8]? { chunks.next() }

            /// Returns the next chunk, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> [UInt8]? { chunks.next() }
        }

        /// Starts at the beginning.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: ArchiveChunks(records)) }

        /// Writes the text into a file, which only this user can read. It is written beside its path, and renamed when it is on the
        /// disk. A thread waits for the disk, and no thread of the runtime does.
        /// - Throws: ``HTTPDNSTrafficMonitor/Error`` when the file cannot be written, or the system gives no thread; an
        ///   earlier file then stays. `CancellationError`: the file may still be written after it.
        public func write(to path: String) async throws {
            try await ExportFile.write("archive", to: path, ArchiveChunks(records))
        }
    }

    /// The records in memory as a HAR file.
    public var archive: Archive { Archive(records) }

    /// Writes the records in memory into a HAR file, see ``Archive/write(to:)``.
    /// - Throws: ``HTTPDNSTrafficMonitor/Error`` when the file cannot be written; `CancellationError`.
    public func writeHAR(to path: String) async throws { try await archive.write(to: path) }
}

/// The chunks of a HAR text.
struct ArchiveChunks: IteratorProtocol, Sendable {
    private var records: ArraySlice<HTTPDNSTrafficMonitor.Record>
    private var entries: ArraySlice<ArchiveEntry> = []
    private var hasBegun = false
    private var hasEntries = false
    private var hasEnded = false

    init(_ records: [HTTPDNSTrafficMonitor.Record]) { self.records = records[...] }

    mutating func next() -> [UInt8]? {
        if !hasBegun {
            hasBegun = true
            let creator = HTTPArchive.Creator.library
            let names = "{\"name\":\"\(creator.name)\",\"version\":\"\(creator.version)\"}"
            return Array("{\"log\":{\"version\":\"1.2\",\"creator\":\(names),\"entries\":[\n".utf8)
        }
        while let entry = nextEntry() {
            guard let text = ArchiveChunks.text(of: entry) else { continue }
            defer { hasEntries = true }
            return (hasEntries ? Array(",\n".utf8) : []) + text
        }
        guard !hasEnded else { return nil }
        hasEnded = true
        return Array("\n]}}\n".utf8)
    }

    private mutating func nextEntry() -> ArchiveEntry? {
        while entries.isEmpty, let record = records.popFirst() { entries = ArchiveEntry.entries(of: record)[...] }
        return entries.popFirst()
    }

    /// Returns nil for a number that JSON does not have, such as one in a record of a program.
    private static func text(of entry: ArchiveEntry) -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(entry)).map { Array($0) }
    }
}
