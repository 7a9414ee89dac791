// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import Foundation
import HTTPDNSMetrics
import Testing

struct MetricNamesTests {
    /// The rows of the table that begins with a column "metric", without head and rule.
    private func rows() throws -> [[String]] {
        let lines = try Document("Docs/Observability.md").text.split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { !$0.hasPrefix("| metric |") }.prefix { $0.hasPrefix("|") }
        return table.dropFirst(2).map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private func codes(in cell: String) -> [String] { cell.matches(of: /`([^`]+)`/).map { String($0.output.1) } }

    @Test("Docs/Observability.md lists every metric with its kind and dimensions")
    func table() throws {
        let documented = try rows().map { row in
            "\(codes(in: row[0])[0]) \(row[1]) \(codes(in: row[2]).sorted())"
        }
        let exported = MetricName.allCases.map { "\($0.rawValue) \($0.kind.rawValue) \($0.dimensions.sorted())" }
        #expect(documented.sorted() == exported.sorted())
    }
}
#endif
