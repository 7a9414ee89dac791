// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer: Tencent")
struct TencentCorpusTests {
    @Test("Any input gives answers about the queried names, addresses or a one-line error")
    func corpus() throws {
        let files = try Repository.corpus("tencent")
        let names = ["www.example.com", "a.example.com", "b.example.com", "c.example.com"]
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: .both)
        var accepted = (answers: 0, lists: 0)
        for (name, octets) in files {
            do {
                let answers = try TencentAnswer.read(octets, question: question)
                #expect(Set(answers.keys).isSubset(of: question.hosts), "\(name)")
                accepted.answers += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
            }
            do {
                let discovery = try TencentServiceList.read(octets, port: 443)
                #expect(discovery.endpoints.allSatisfy { $0.address.family == .v4 }, "\(name)")
                accepted.lists += 1
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
            }
        }
        #expect(accepted.answers >= 5 && accepted.lists >= 2)
        #expect(files.count > accepted.answers + accepted.lists)
    }
}
