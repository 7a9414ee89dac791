// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer: Alibaba")
struct AlibabaCorpusTests {
    @Test("Any input gives answers about the queried names, or an error of one line")
    func corpus() throws {
        let files = try Repository.corpus("alibaba")
        let names = ["www.example.com", "img.example.com", "none.example.com", "a.test"]
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: .both)
        var accepted = (v1: 0, v2: 0)
        for (name, octets) in files {
            do {
                let answers = try AlibabaV1Answer.read(octets, question: question)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(name)")
                accepted.v1 += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
            }
            do {
                let answers = try AlibabaV2Answer.read(octets, question: question, payload: nil)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(name)")
                accepted.v2 += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
            }
        }
        #expect(accepted.v1 >= 3 && accepted.v2 >= 5)
        #expect(files.count > accepted.v1 + accepted.v2)
    }
}
