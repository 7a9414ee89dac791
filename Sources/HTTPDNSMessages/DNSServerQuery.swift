// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A query as it goes to a name server without encryption, with what tells the server's answer from a forged one: an ID, and the
/// letters of the name in a case of their own (draft-vixie-dnsext-dns0x20). A value.
package struct DNSServerQuery: Sendable {
    package enum Reading: Hashable, Sendable {
        /// The answer, with ID 0 as over HTTPS.
        case answer([UInt8])
        /// It would be the answer if the name had the case of the query: the server changes it, or it is forged.
        case otherCase([UInt8])
        /// The answer is longer than a datagram (the TC flag is set).
        case truncated
        /// No answer to this query.
        case unrelated
    }

    /// The message.
    package let message: [UInt8]
    package var id: UInt16 { UInt16(message[0]) << 8 | UInt16(message[1]) }
    /// The offset after the question.
    private let questionEnd: Int

    /// - Parameters:
    ///   - isPadded: As for ``DNSQuery/encoded(_:clientSubnet:usesEDNS:isPadded:wishes:)``.
    ///   - mixesCase: Whether the letters have a random case; else they are lower case.
    ///   - generator: The source of the ID and the case.
    package init(
        _ question: DNSQuestion,
        clientSubnet: DNSClientSubnet? = nil,
        usesEDNS: Bool = true,
        isPadded: Bool = false,
        mixesCase: Bool = true,
        wishes: DNSSignatureWishes = DNSSignatureWishes(),
        using generator: inout some RandomNumberGenerator
    ) {
        var message = DNSQuery.encoded(
            question,
            clientSubnet: clientSubnet,
            usesEDNS: usesEDNS,
            isPadded: isPadded,
            wishes: wishes
        )
        let id = UInt16.random(in: 0...UInt16.max, using: &generator)
        (message[0], message[1]) = (UInt8(id >> 8), UInt8(truncatingIfNeeded: id))
        let name = DNSWireFormat.headerOctets..<DNSWireFormat.headerOctets + question.name.octets.count
        questionEnd = name.upperBound + 4
        if mixesCase {
            var bits: UInt64 = 0
            for (number, index) in name.enumerated() {
                if number % 64 == 0 { bits = generator.next() }
                // A length is below 64, and no letter.
                if DNSName.isLetter(message[index]), bits >> (number % 64) & 1 == 1 { message[index] ^= 0x20 }
            }
        }
        self.message = message
    }

    /// Returns whether its question is this one, in the same case.
    package func asks(_ question: [UInt8]) -> Bool {
        message[DNSWireFormat.headerOctets..<questionEnd].elementsEqual(question)
    }

    /// Returns what a message that arrived is.
    package func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= DNSWireFormat.headerOctets, bytes[0] == message[0], bytes[1] == message[1] else {
            return .unrelated
        }
        let flags = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        guard flags & DNSWireFormat.Flag.response != 0, flags & DNSWireFormat.Flag.operationCode == 0 else {
            return .unrelated
        }
        guard let hasCase = questionHasCase(bytes, code: flags & DNSWireFormat.Flag.responseCode) else {
            return .unrelated
        }
        if flags & DNSWireFormat.Flag.truncated != 0 { return .truncated }
        var answer = Array(bytes)
        (answer[0], answer[1]) = (0, 0)
        return hasCase ? .answer(answer) : .otherCase(answer)
    }

    /// Returns whether the question is repeated in the same case; nil when it is another one.
    private func questionHasCase(_ bytes: UnsafeRawBufferPointer, code: UInt16) -> Bool? {
        let count = UInt16(bytes[4]) << 8 | UInt16(bytes[5])
        // Some servers do not repeat a question that they could not read.
        if count == 0, DNSResponseCode.withoutEDNS.contains(where: { $0.number == code }) { return true }
        guard count == 1, bytes.count >= questionEnd else { return nil }
        var isSame = true
        for index in DNSWireFormat.headerOctets..<questionEnd where bytes[index] != message[index] {
            let isName = index < questionEnd - 4
            guard isName, DNSName.lowercased(bytes[index]) == DNSName.lowercased(message[index]) else { return nil }
            isSame = false
        }
        return isSame
    }
}
