// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer: Tencent")
struct TencentCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../../../Fuzz/Corpus/tencent")

    @Test("Any input gives answers about the queried names, addresses or a one-line error")
    func corpus() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        let names = ["www.example.com", "a.example.com", "b.example.com", "c.example.com"]
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: .both)
        var accepted = (answers: 0, lists: 0)
        for file in files {
            let octets = [UInt8](try Data(contentsOf: file))
            do {
                let answers = try TencentAnswer.read(octets, question: question)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(file.lastPathComponent)")
                accepted.answers += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(file.lastPathComponent)")
            }
            do {
                let discovery = try TencentServiceList.read(octets, port: 443)
                #expect(discovery.endpoints.allSatisfy { $0.address.family == .v4 }, "\(file.lastPathComponent)")
                accepted.lists += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(file.lastPathComponent)")
            }
        }
        #expect(accepted.answers >= 5 && accepted.lists >= 2)
        #expect(files.count > accepted.answers + accepted.lists)
    }
}
