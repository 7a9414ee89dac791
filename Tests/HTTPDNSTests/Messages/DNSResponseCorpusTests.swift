import Foundation
import HTTPDNS
import Testing

/// The fuzzer's corpus, see `Fuzz/README.md`.
@Suite("Corpus of the fuzzer")
struct DNSResponseCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../../Fuzz/Corpus/dns-response")

    @Test("every input gives an outcome that keeps the rules, or a typed error of one line")
    func corpus() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        var accepted = 0
        var refusals: Set<DNSMessageError.Code> = []
        for file in files {
            let octets = [UInt8](try Data(contentsOf: file))
            let question = Self.question(in: octets)
            do {
                let outcome = try DNSResponse(parsing: octets, to: question).outcome()
                #expect(isWellFormed(outcome, question: question), "\(file.lastPathComponent)")
                accepted += 1
            } catch {
                let isOneLine = error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }
                #expect(isOneLine, "\(file.lastPathComponent)")
                refusals.insert(error.code)
            }
        }
        // Too long a message is the one thing that the fuzzer does not make.
        #expect(
            Set(DNSMessageError.Code.allCases).subtracting(refusals).isSubset(of: [
                .tooLong, .wrongQuestion, .aliasChainTooLong,
            ])
        )
        #expect(accepted >= 12)
    }

    /// The question that the message itself has, as the fuzzer's target takes it.
    private static func question(in octets: [UInt8]) -> DNSQuestion {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(12)) != nil, let name = try? reader.readName(),
            let type = try? reader.readUInt16()
        else { return DNSQuestion(name: .root, type: .a) }
        return DNSQuestion(name: name, type: type == DNSRecordType.aaaa.number ? .aaaa : .a)
    }
}
