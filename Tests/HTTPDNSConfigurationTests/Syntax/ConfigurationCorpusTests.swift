// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSConfiguration

#if YAML
/// The fuzzer's corpus, see `Fuzz/README.md`.
struct ConfigurationCorpusTests {
    @Test("Every input gives settings, or errors of one line with locations")
    func corpus() throws {
        var read = 0
        var refused = 0
        for (name, octets) in try Repository.corpus("mappings-file") {
            do {
                _ = try HTTPDNSConfigurationFile.settings(try FileContents.text(octets, file: "f.yaml"), name: "f.yaml")
                read += 1
            } catch {
                refused += 1
                #expect((1...20).contains(error.issues.count), "\(name)")
                let isUTF16 = octets.starts(with: [0xff, 0xfe]) || octets.starts(with: [0xfe, 0xff])
                for mistake in error.issues {
                    let isOneLine = mistake.description.unicodeScalars.allSatisfy { $0.value >= 0x20 }
                    #expect(isOneLine && !mistake.message.isEmpty, "\(name): \(mistake)")
                    let line = mistake.location.line ?? 0
                    let column = mistake.location.column ?? 0
                    let places = 1...octets.count + 1
                    let isPlaced = places.contains(line) && places.contains(column)
                    #expect(isUTF16 || isPlaced, "\(name): \(mistake)")
                }
            }
        }
        #expect(read >= 5 && refused >= 100)
    }
}
#endif
