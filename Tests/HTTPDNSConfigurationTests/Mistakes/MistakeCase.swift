// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Returns the keys of a section as errors list them, so that a new key changes no test.
func keys(_ section: String) -> String {
    KeyTable.all.filter { $0.name == section }.flatMap(\.keys).joined(separator: ", ")
}

/// A configuration file with mistakes, and the text that tells about them.
struct MistakeCase: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var expected: String

    /// The cases of a text: `== NAME`, a file without its first line `version: 1`, `=>`, and its error. After `=== NAME`, the
    /// whole file follows.
    static func table(_ text: String) -> [MistakeCase] {
        var cases: [MistakeCase] = []
        var isError = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("== ") || line.hasPrefix("=== ") {
                let start = line.hasPrefix("=== ") ? "" : "version: 1\n"
                cases.append(MistakeCase(name: String(line.drop { $0 == "=" }.dropFirst()), text: start, expected: ""))
                isError = false
            } else if line == "=>" {
                isError = true
            } else if isError {
                cases[cases.count - 1].expected += (cases[cases.count - 1].expected.isEmpty ? "" : "\n") + line
            } else {
                cases[cases.count - 1].text += line + "\n"
            }
        }
        return cases
    }

    var testDescription: String { name }

    /// The error's description; a word of its own when there is none, so that the comparison shows it.
    func error() -> String {
        do {
            _ = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
            return "no error"
        } catch {
            return error.description
        }
    }
}
#endif
