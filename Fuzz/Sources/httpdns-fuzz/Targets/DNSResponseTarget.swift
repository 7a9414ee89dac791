// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSMessages

extension FuzzTarget {
    /// DNS messages (RFC 1035). The question is taken from the message, so that its echo seldom ends the parsing; every
    /// message is also read as if services had been asked for (RFC 9460), on behalf of a network (RFC 7871).
    static let dnsResponse = FuzzTarget(name: "dns-response") { octets in
        checkPresentation(octets)
        let asked = question(in: octets)
        if asked.type == .a || asked.type == .aaaa { checkAddresses(octets, asked) }
        checkServices(octets, asked)
        if asked.type == .a { checkServices(withType(.https, in: octets), DNSQuestion(name: asked.name, type: .https)) }
    }

    /// Reads records of all types, for a question of any type.
    private static func checkPresentation(_ octets: [UInt8]) {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(DNSWireFormat.headerOctets)) != nil, let name = try? reader.readName(),
            let number = try? reader.readUInt16()
        else { return }
        let question = DNSQuestion(name: name, type: DNSRecordType(number: number))
        do throws(DNSMessageError) {
            let response = try PresentedResponse(parsing: octets, to: question)
            for record in response.answers + response.authorities {
                precondition(isOneLine("\(record.owner) \(record.recordClass) \(record.type) \(record.data)"))
                if let mistake = record.mistake { checkError(mistake) }
            }
        } catch {
            checkError(error)
        }
    }

    private static let subnet = HTTPDNSAddressBlock("203.0.113.0/24").map(DNSClientSubnet.init)

    private static func checkAddresses(_ octets: [UInt8], _ question: DNSQuestion) {
        let outcome: HTTPDNSProviderAnswer.Family
        do throws(DNSMessageError) {
            outcome = try DNSResponse(parsing: octets, to: question).outcome(freshness, failure: failure)
        } catch {
            checkError(error)
            return
        }
        precondition(octets.count <= DNSWireFormat.maximumMessageOctets)
        check(outcome, question)
        // With any octet more or less, the same octets are no message.
        precondition((try? DNSResponse(parsing: octets + [0], to: question)) == nil)
        precondition((try? DNSResponse(parsing: octets.dropLast(), to: question)) == nil)
    }

    private static func checkServices(_ octets: [UInt8], _ question: DNSQuestion) {
        let outcome: HTTPDNSProviderAnswer.HTTPSRecords
        var generator = SystemRandomNumberGenerator()
        do throws(DNSMessageError) {
            let response = try DNSResponse(parsing: octets, to: question, clientSubnet: subnet)
            precondition((0...32).contains(response.clientSubnetScope ?? 0))
            for case .service(let record) in response.answers.map(\.content) {
                // The presentation form is a line of printable ASCII.
                precondition("\(record)".utf8.allSatisfy { (0x20...0x7e).contains($0) })
            }
            outcome = try response.serviceOutcome(freshness, using: &generator, failure: failure)
        } catch {
            checkError(error)
            return
        }
        guard question.type.bindsServices else { return }
        switch outcome {
        case .bindings(let bindings, let timeToLive):
            precondition((1...DNSResponse.maximumServices).contains(bindings.count))
            precondition(zip(bindings, bindings.dropFirst()).allSatisfy { $0.priority <= $1.priority })
            precondition(timeToLive <= longestLife)
            for binding in bindings {
                precondition(binding.priority > 0 && binding.port != 0)
                precondition((1...ServiceParameters.maximumProtocols + 1).contains(binding.applicationProtocols.count))
                precondition(max(binding.v4Hints.count, binding.v6Hints.count) <= DNSResponse.maximumAddresses)
                precondition(binding.v4Hints.allSatisfy { $0.family == .v4 })
                precondition(binding.v6Hints.allSatisfy { $0.family == .v6 })
            }
        case .alias, .unavailable, .none, .failed:
            break
        }
    }

    private static func checkError(_ error: DNSMessageError) {
        precondition(isOneLine(error.description), "an error is one line of ASCII")
    }

    private static func question(in octets: [UInt8]) -> DNSQuestion {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(DNSWireFormat.headerOctets)) != nil, let name = try? reader.readName(),
            let number = try? reader.readUInt16()
        else { return DNSQuestion(name: .root, type: .a) }
        let type = DNSRecordType(number: number)
        return DNSQuestion(name: name, type: type == .aaaa || type.bindsServices ? type : .a)
    }

    /// The message with another type in its question.
    private static func withType(_ type: DNSRecordType, in octets: [UInt8]) -> [UInt8] {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(DNSWireFormat.headerOctets)) != nil, (try? reader.readName()) != nil,
            reader.remaining >= 2
        else { return octets }
        var changed = octets
        changed[reader.offset] = UInt8(truncatingIfNeeded: type.number >> 8)
        changed[reader.offset + 1] = UInt8(truncatingIfNeeded: type.number)
        return changed
    }
}
