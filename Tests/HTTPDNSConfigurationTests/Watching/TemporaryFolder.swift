// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// A folder of a test, without links on the way to it.
struct TemporaryFolder {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("httpdns-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something in it.
    func callAsFunction(_ name: String) -> String { path + "/" + name }

    func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self(name)))
    }

    /// Moves a new file into place, as editors do.
    func replace(_ text: String, _ name: String) throws {
        let temporary = self("." + UUID().uuidString)
        try Data(text.utf8).write(to: URL(fileURLWithPath: temporary))
        guard rename(temporary, self(name)) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
    }

    /// Makes a link, in place of one that is there.
    func link(_ name: String, to target: String) throws {
        let temporary = self("." + UUID().uuidString)
        guard symlink(target, temporary) == 0, rename(temporary, self(name)) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }
}
