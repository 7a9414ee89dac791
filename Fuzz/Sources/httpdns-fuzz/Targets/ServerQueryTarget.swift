// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNSMessages

extension FuzzTarget {
    /// What arrives for a query to a name server. The query draws nothing: the bytes are often enough its answer.
    static let serverQuery = FuzzTarget(name: "server-query") { octets in
        var generator = Zeros()
        let query = DNSServerQuery(question, using: &generator)
        let reading = octets.withUnsafeBytes { query.read($0) }
        guard octets.count >= 12, octets[0] == 0, octets[1] == 0, octets[2] & 0xf8 == 0x80 else {
            return precondition(reading == .unrelated)
        }
        switch reading {
        case .unrelated, .truncated: break
        case .answer(let message):
            precondition(message == octets)
            // Whatever answers it is about its question, or fails.
            guard let response = try? DNSResponse(parsing: message, to: question) else { return }
            precondition(response.question == question)
        case .otherCase(let message):
            precondition(message == octets && message[12..<26] != query.message[12..<26])
        }
    }

    private static let question = DNSQuestion(
        name: DNSName(validatedOctets: [3] + "one".utf8 + [4] + "test".utf8 + [0]),
        type: .a
    )

    private struct Zeros: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0 }
    }
}
