// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// The repository that has these tests.
package enum Repository {
    /// Returns the path of a file or folder, which is given from the root.
    package static func path(_ name: String) -> String {
        "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/" + name
    }

    /// Returns the text of a file.
    package static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }

    /// Returns the inputs of one target of the fuzzer (`Fuzz/README.md`).
    package static func corpus(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
        let file = Data(try text("Fuzz/Corpus/\(target).json").utf8)
        let inputs = try JSONDecoder().decode([String: String].self, from: file)
        // Each character is a byte.
        return inputs.map { name, input in (name, input.unicodeScalars.map { UInt8($0.value) }) }
    }
}
