// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSMessages

extension FuzzTarget {
    /// A query, and behind its length the message of another server to relay.
    static let receivedQuery = FuzzTarget(name: "received-query") { octets in
        let count = min(Int(octets.first ?? 0), max(octets.count - 1, 0))
        let message = Array(octets.dropFirst().prefix(count))
        guard let query = try? ReceivedQuery(message) else {
            guard let refusal = ReceivedQuery.refusal(of: message) else { return }
            precondition(refusal.count == 12 && refusal[2] & 0x80 != 0)
            return
        }
        precondition(query.octetCount == count)
        let records = (0..<3).map { ReceivedQuery.record(.a, timeToLive: 30, [192, 0, 2, UInt8($0)]) }
        let whole = query.response(
            .noError,
            answers: records,
            authority: [ReceivedQuery.startOfAuthority(timeToLive: 5)],
            extendedErrors: [HTTPDNSExtendedError(code: 3, text: "stale")],
            cookie: [UInt8](repeating: 1, count: 16)
        )
        check(whole, of: query, message)
        for limit in [12, 64, query.datagramOctets] {
            let response = query.response(.noError, answers: records, limit: limit)
            check(response, of: query, message)
            precondition(response.count <= limit || response[2] & 2 != 0)
        }
        let relayed = Array(octets.dropFirst(1 + count))
        guard let response = try? query.response(relaying: relayed) else { return }
        check(response, of: query, message)
        precondition(response.count <= relayed.count + 11 + 4 * 400)
    }

    private static func check(_ response: [UInt8], of query: ReceivedQuery, _ message: [UInt8]) {
        precondition(response.prefix(2) == message.prefix(2) && response[2] & 0x80 != 0)
        let question = 12..<12 + query.questionOctets.count
        precondition(response.count >= question.upperBound && response[question] == message[question])
    }
}
