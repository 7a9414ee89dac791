// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer: Alibaba")
struct AlibabaCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../../../Fuzz/Corpus/alibaba")

    @Test("Any input gives answers about the queried names, or an error of one line")
    func corpus() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        let names = ["www.example.com", "img.example.com", "none.example.com", "a.test"]
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: .both)
        var accepted = (v1: 0, v2: 0)
        for file in files {
            let octets = [UInt8](try Data(contentsOf: file))
            do {
                let answers = try AlibabaV1Answer.read(octets, question: question)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(file.lastPathComponent)")
                accepted.v1 += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(file.lastPathComponent)")
            }
            do {
                let answers = try AlibabaV2Answer.read(octets, question: question, payload: nil)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(file.lastPathComponent)")
                accepted.v2 += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(file.lastPathComponent)")
            }
        }
        #expect(accepted.v1 >= 3 && accepted.v2 >= 5)
        #expect(files.count > accepted.v1 + accepted.v2)
    }
}
