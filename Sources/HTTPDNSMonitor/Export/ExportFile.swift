// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// A file that is made of records.
enum ExportFile {
    /// Writes chunks into a file, which only this user can read. It is written beside its path, and renamed when it is on the
    /// disk. A thread waits for the disk, and no thread of the runtime does.
    /// - Parameters:
    ///   - name: The name of the file's kind in errors, such as `archive`.
    ///   - chunks: The chunks. They are made on the thread too.
    /// - Throws: ``HTTPDNSTrafficMonitor/Error``; `CancellationError`.
    static func write(
        _ name: String,
        to path: String,
        _ chunks: some IteratorProtocol<[UInt8]> & Sendable
    ) async throws {
        do {
            try await SerialWork().run { try write(name, to: path, each: chunks) }
        } catch is SerialWork.NoThread {
            throw HTTPDNSTrafficMonitor.Error(
                path: path,
                "the \(name) cannot be written: the system gave no thread"
            )
        }
    }

    private static func write(_ name: String, to path: String, each chunks: some IteratorProtocol<[UInt8]>)
        throws(HTTPDNSTrafficMonitor.Error)
    {
        do throws(FileFault) {
            let file = try ReplacedFile(path, isPrivate: true)
            var chunks = chunks
            while let chunk = chunks.next() { try file.append(chunk) }
            try file.finish()
        } catch {
            throw HTTPDNSTrafficMonitor.Error(path: path, "the \(name) cannot be written: \(error.reason)")
        }
    }
}
