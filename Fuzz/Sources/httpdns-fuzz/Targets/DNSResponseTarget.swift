internal import HTTPDNSPrimitives

@testable internal import HTTPDNS

extension FuzzTarget {
    /// DNS messages (RFC 1035). The question is taken from the message, so that its echo seldom ends the parsing.
    static let dnsResponse = FuzzTarget(name: "dns-response") { octets in
        let question = question(in: octets)
        let outcome: DNSOutcome
        do throws(DNSMessageError) {
            outcome = try DNSResponse(parsing: octets, to: question).outcome()
        } catch {
            precondition(!error.description.utf8.contains { $0 < 0x20 || $0 > 0x7e }, "an error is one line of ASCII")
            return
        }
        precondition(octets.count <= DNSWireFormat.maximumMessageOctets)
        switch outcome {
        case .addresses(let addresses, let timeToLive, _):
            precondition((1...DNSResponse.maximumAddresses).contains(addresses.count))
            precondition(Set(addresses).count == addresses.count, "an address is there once")
            precondition(addresses.allSatisfy { $0.family == (question.type == .a ? .v4 : .v6) })
            precondition(timeToLive <= DNSTimeToLive.maximumSeconds)
        case .noData(let timeToLive), .nameError(let timeToLive):
            precondition((timeToLive ?? 0) <= DNSTimeToLive.maximumSeconds)
        case .failed(let code):
            precondition(code != .noError && code != .nameError)
        }
        // With any octet more or less, the same octets are no message.
        precondition((try? DNSResponse(parsing: octets + [0], to: question)) == nil)
        precondition((try? DNSResponse(parsing: octets.dropLast(), to: question)) == nil)
    }

    private static func question(in octets: [UInt8]) -> DNSQuestion {
        var reader = DNSMessageReader(octets)
        guard (try? reader.readOctets(DNSWireFormat.headerOctets)) != nil, let name = try? reader.readName(),
            let type = try? reader.readUInt16()
        else { return DNSQuestion(name: .root, type: .a) }
        return DNSQuestion(name: name, type: type == DNSRecordType.aaaa.number ? .aaaa : .a)
    }
}
