// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

extension HTTPDNSResolver.Resolution {
    /// The longest time that a client may keep an answer: a move is to be seen soon, whatever caches stand between.
    private static let longestLife: Int64 = 30

    /// The time for which a client may keep the addresses.
    var secondsForClients: Int {
        // The next client is to draw again.
        if mapping?.targets.areWeighted == true { return 1 }
        return Int(max(min(nanosecondsLeft / 1_000_000_000, Self.longestLife), 1))
    }
}

extension ReceivedQuery {
    /// The time for which a client may keep that there is no address.
    static let absence = 5
    /// IANA's registry of extended errors (RFC 8914 section 5.2).
    private static let staleAnswer: UInt16 = 3
    private static let blocked: UInt16 = 15
    private static let noReachableAuthority: UInt16 = 22

    /// BADVERS, for another version of EDNS than 0 (RFC 6891 section 9).
    static let badVersion = DNSResponseCode(number: 16)

    /// Whether the type is one of questions alone, such as ANY and AXFR, or of what stands beside records (RFC 6895 section 3.1).
    var asksForNoRecord: Bool { (128...255).contains(question.type.number) || question.type == .opt }

    /// The family that is asked for; nil for other records.
    var family: HTTPDNSAddress.Family? {
        switch question.type {
        case .a: .v4
        case .aaaa: .v6
        default: nil
        }
    }

    /// Returns the response with addresses that an address alone can express: of the family, and without a port of their own.
    func response(_ resolution: HTTPDNSResolver.Resolution, cookie: [UInt8], limit: Int) -> [UInt8] {
        let seconds = resolution.secondsForClients
        let answers = resolution.endpoints.lazy
            .filter { $0.port == 0 && $0.address.family == family }
            .map { Self.record(question.type, timeToLive: seconds, $0.address.bytes) }
        var reasons = resolution.extendedErrors
        if resolution.isStale, !reasons.contains(where: { $0.code == Self.staleAnswer }) {
            reasons.append(HTTPDNSExtendedError(code: Self.staleAnswer))
        }
        guard !answers.isEmpty else { return withoutRecords(reasons: reasons, cookie: cookie, limit: limit) }
        return response(.noError, answers: Array(answers), extendedErrors: reasons, cookie: cookie, limit: limit)
    }

    /// Returns the response for a lookup that failed.
    func response(_ error: HTTPDNSResolver.Error?, cookie: [UInt8], limit: Int) -> [UInt8] {
        switch error?.code {
        case .nameNotFound?: withoutRecords(.nameError, cookie: cookie, limit: limit)
        case .noAddresses?: withoutRecords(cookie: cookie, limit: limit)
        case .policyRefused?:
            withoutRecords(reasons: [HTTPDNSExtendedError(code: Self.blocked)], cookie: cookie, limit: limit)
        case .invalidName?: response(.refused, cookie: cookie, limit: limit)
        default: failure(cookie: cookie, limit: limit)
        }
    }

    /// Returns the response to a question that nobody answered.
    func failure(cookie: [UInt8], limit: Int) -> [UInt8] {
        let reason = HTTPDNSExtendedError(code: Self.noReachableAuthority)
        return response(.serverFailure, extendedErrors: [reason], cookie: cookie, limit: limit)
    }

    /// Returns the response that there are no such records, with the life of that.
    func withoutRecords(
        _ code: DNSResponseCode = .noError,
        reasons: [HTTPDNSExtendedError] = [],
        cookie: [UInt8],
        limit: Int
    ) -> [UInt8] {
        response(
            code,
            authority: [Self.startOfAuthority(timeToLive: Self.absence)],
            extendedErrors: reasons,
            cookie: cookie,
            limit: limit
        )
    }

    /// The longest datagram for a client that has not proven its address: room for one address record.
    func unprovenOctets(cookie: [UInt8]) -> Int {
        let record = Self.record(question.type, timeToLive: 0, [UInt8](repeating: 0, count: family == .v6 ? 16 : 4))
        return response(.noError, cookie: cookie).count + record.count
    }
}
#endif
