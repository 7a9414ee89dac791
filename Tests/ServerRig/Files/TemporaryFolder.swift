// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// A folder for the files of one test, removed with its last reference.
package final class TemporaryFolder: Sendable {
    /// The folder's path, without links. It leaves room for the name of a Unix socket, whose path has at most 107 bytes.
    package let path: String

    package init() throws {
        path = "/tmp/httpdns-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names in the folder, sorted.
    package var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

    /// Returns the path of a name in the folder.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Returns the text of a file; `nil` when it cannot be read.
    package func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: path(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes a file in place.
    /// - Returns: The file's path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: path(name)))
        return path(name)
    }

    /// Writes a file beside and moves it into place, as editors do and as certificates are renewed.
    package func replace(_ name: String, with text: String) throws {
        let temporary = try write(text, to: ".\(UUID())")
        try checked("rename", rename(temporary, path(name)))
    }

    /// Copies a file into the folder, in place of one that is there.
    package func copy(_ file: String, to name: String) throws {
        try replace(name, with: String(contentsOfFile: file, encoding: .utf8))
    }

    /// Makes a folder in it, and those on the way to it.
    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    }

    /// Makes a symbolic link, in place of one that is there.
    package func link(_ name: String, to target: String) throws {
        let temporary = path(".\(UUID())")
        try checked("symlink", symlink(target, temporary))
        try checked("rename", rename(temporary, path(name)))
    }
}
