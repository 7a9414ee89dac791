// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNSMetrics
import Testing

struct MetricNamesTests {
    @Test("Docs/Observability.md lists every metric with its kind and dimensions")
    func table() throws {
        let rows = try Document("Docs/Observability.md").rows(ofTable: "| metric | kind | dimensions | what |")
        let documented = rows.map { row in
            "\(Document.codes(in: row[0])[0]) \(row[1]) \(Document.codes(in: row[2]).sorted())"
        }
        let exported = MetricName.allCases.map { "\($0.rawValue) \($0.kind.rawValue) \($0.dimensions.sorted())" }
        #expect(documented.sorted() == exported.sorted())
    }
}
#endif
