// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSConfiguration

extension FuzzTarget {
    /// The configuration file, from octets to settings: YAML, JSON, hosts lines. No provider is made.
    static let mappingsFile = FuzzTarget(name: "mappings-file") { octets in
        do throws(HTTPDNSConfigurationFileError) {
            _ = try HTTPDNSConfigurationFile.settings(try FileContents.text(octets, file: "f.yaml"), name: "f.yaml")
        } catch {
            precondition((1...20).contains(error.issues.count) && error.omitted >= 0)
            // UTF-16 has no lines that could be counted.
            let isUTF16 = octets.starts(with: [0xff, 0xfe]) || octets.starts(with: [0xfe, 0xff])
            for mistake in error.issues {
                precondition(!mistake.message.isEmpty)
                precondition(!mistake.description.unicodeScalars.contains { $0.value < 0x20 }, "a mistake is one line")
                if isUTF16 { continue }
                guard let line = mistake.location.line, let column = mistake.location.column else {
                    preconditionFailure("a mistake has a place: \(mistake)")
                }
                // One line more than there are octets: the end of a file that ends with a line feed.
                precondition((1...octets.count + 1).contains(line) && (1...octets.count + 1).contains(column))
            }
        }
    }
}
