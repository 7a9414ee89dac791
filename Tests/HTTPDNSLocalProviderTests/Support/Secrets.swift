// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import Foundation

/// A folder of a test's own, with files that hold secrets as the file reader wants them: mode 0600.
final class Secrets: Sendable {
    /// For secrets that are read late, when a query comes.
    static let shared = try! Secrets()

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "local-provider-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The setting of a secret with this text.
    func place(_ text: String) throws -> String {
        let file = folder.appending(path: "\(UUID())")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return "{ file: \(file.path) }"
    }

    func write(_ text: String, to name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file, options: .atomic)
        return file.path
    }
}
#endif
