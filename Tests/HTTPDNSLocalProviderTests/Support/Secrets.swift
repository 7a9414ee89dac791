// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import Foundation
import ServerRig

/// Files that hold secrets as the file reader wants them: mode 0600.
enum Secrets {
    /// For the whole process, since secrets are read late, when a query comes.
    private static let folder = try! TemporaryFolder()

    /// The setting of a secret with this text.
    static func place(_ text: String) throws -> String {
        let file = try folder.write(text, to: "\(UUID())")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        return "{ file: \(file) }"
    }
}
#endif
