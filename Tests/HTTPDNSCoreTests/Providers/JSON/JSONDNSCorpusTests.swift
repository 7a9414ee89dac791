// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCore
import HTTPDNSMessages
import Testing

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer: JSON DNS")
struct JSONDNSCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../../../Fuzz/Corpus/json-dns")

    @Test("Every input gives a valid outcome or a typed error of one line")
    func corpus() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        var accepted = 0
        var refusals: Set<JSONDNSError.Code> = []
        var chains: Set<DNSMessageError.Code> = []
        for file in files {
            let octets = [UInt8](try Data(contentsOf: file))
            let question = Self.question(in: octets)
            do {
                let outcome = try JSONDNSMessage(parsing: octets).response(to: question).outcome()
                #expect(isWellFormed(outcome, question: question), "\(file.lastPathComponent)")
                accepted += 1
            } catch {
                #expect("\(error)".utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(file.lastPathComponent)")
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
