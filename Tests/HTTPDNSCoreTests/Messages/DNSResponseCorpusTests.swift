// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

/// The fuzzer's corpus, see `Fuzz/README.md`.
struct DNSResponseCorpusTests {
    @Test("Every input gives a valid outcome or a typed error of one line")
    func corpus() throws {
        var accepted = 0
        var refusals: Set<DNSMessageError.Code> = []
        for (name, octets) in try Repository.corpus("dns-response") {
            let question = Self.question(in: octets)
            guard !question.type.bindsServices else { continue }
            do {
                let outcome = try DNSResponse(parsing: octets, to: question).outcome()
                #expect(isWellFormed(outcome, question: question), "\(name)")
                accepted += 1
            } catch {
                let isOneLine = error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }
                #expect(isOneLine, "\(name)")
                refusals.insert(error.code)
            }
        }
        // Too long a message is the one thing that the fuzzer does not make.
        #expect(
            Set(DNSMessageError.Code.allCases).subtracting(refusals).isSubset(of: [
                .tooLong, .wrongQuestion, .aliasChainTooLong, .badService, .wrongClientSubnet,
            ])
        )
        #expect(accepted >= 12)
    }

    @Test("Every input is read as an HTTPS record answer too, by the same rules")
    func services() throws {
        let subnet = DNSClientSubnet(try #require(HTTPDNSAddressBlock("203.0.113.0/24")))
        var outcomes: Set<String> = []
        var faults: Set<DNSMessageError.Code> = []
        for (name, octets) in try Repository.corpus("dns-response") {
            let question = Self.question(in: octets)
            guard question.type.bindsServices else { continue }
            do {
                let response = try DNSResponse(parsing: octets, to: question, clientSubnet: subnet)
                for record in response.answers {
                    if case .malformedService(let error) = record.content { faults.insert(error.code) }
                }
                switch try response.serviceOutcome() {
                case .bindings(let bindings, _):
                    #expect((1...16).contains(bindings.count), "\(name)")
                    outcomes.insert("bindings")
                case .alias: outcomes.insert("alias")
                case .unavailable: outcomes.insert("unavailable")
                case .none: outcomes.insert("none")
                case .failed: outcomes.insert("failed")
                }
            } catch {
                faults.insert(error.code)
            }
        }
        #expect(outcomes.isSuperset(of: ["bindings", "alias", "unavailable", "none"]))
        #expect(faults.isSuperset(of: [.badService, .truncated, .badPointer, .wrongClientSubnet]))
    }

    /// The question that the message itself has, as the fuzzer's target takes it.
    private static func question(in octets: [UInt8]) -> DNSQuestion {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(12)) != nil, let name = try? reader.readName(),
            let number = try? reader.readUInt16()
        else { return DNSQuestion(name: .root, type: .a) }
        let type = DNSRecordType(number: number)
        return DNSQuestion(name: name, type: type == .aaaa || type.bindsServices ? type : .a)
    }
}
