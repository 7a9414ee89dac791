// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

/// The fuzzer's corpus, see `Fuzz/README.md`.
struct JSONDNSCorpusTests {
    @Test("Every input gives a valid outcome or a typed error of one line")
    func corpus() throws {
        var accepted = 0
        var refusals: Set<JSONDNSError.Code> = []
        var chains: Set<DNSMessageError.Code> = []
        for (name, octets) in try Repository.corpus("json-dns") {
            let question = Self.question(in: octets)
            do {
                let outcome = try JSONDNSMessage(parsing: octets).response(to: question).outcome()
                #expect(isWellFormed(outcome, question: question), "\(name)")
                accepted += 1
            } catch {
                #expect("\(error)".utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
                if let error = error as? JSONDNSError { refusals.insert(error.code) }
                if let error = error as? DNSMessageError { chains.insert(error.code) }
            }
        }
        #expect(refusals == Set(JSONDNSError.Code.allCases))
        #expect(chains == [.aliasLoop, .ambiguousAlias, .aliasChainTooLong, .contradiction])
        #expect(accepted >= 14)
    }

    /// The question that the text itself has, as the fuzzer's target takes it.
    private static func question(in octets: [UInt8]) -> DNSQuestion {
        guard let root = try? JSONReader.read(octets) else { return DNSQuestion(name: .root, type: .a) }
        var question = root["Question"]
        if case .array(let elements)? = question { question = elements.first }
        let name = question?["name"]?.text.flatMap(DNSName.init(presentation:)) ?? .root
        return DNSQuestion(name: name, type: question?["type"]?.uint16 == 28 ? .aaaa : .a)
    }
}
