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

    init(_ name: String, _ text: String, _ expected: String) {
        (self.name, self.text, self.expected) = (name, text + "\n", expected)
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
