// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCore

struct ProviderAnswerOutcomeTests {
    private static let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
    private static let v6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 1)
    private static let failed = failed("SERVFAIL")

    private static func failed(_ message: String, _ code: HTTPDNSProviderError.Code = .serverFailure)
        -> HTTPDNSProviderAnswer.Family
    {
        .failed(HTTPDNSProviderError(code: code, message: message))
    }

    private static let found4 = HTTPDNSProviderAnswer.Family.addresses(
        [v4],
        timeToLive: .seconds(60),
        canonicalName: nil
    )
    private static let found6 = HTTPDNSProviderAnswer.Family.addresses(
        [v6],
        timeToLive: .seconds(30),
        canonicalName: nil
    )

    /// A failure has the code of the family that failed.
    @Test(
        "Both families are merged into one outcome",
        arguments: [
            (found4, found6, .addresses([v4, v6], timeToLive: .seconds(30), canonicalName: nil)),
            (found4, .noData(timeToLive: .seconds(1)), found4),
            (.noData(timeToLive: nil), found6, found6),
            (found4, failed, found4),
            (.noData(timeToLive: .seconds(9)), .noData(timeToLive: .seconds(7)), .noData(timeToLive: .seconds(7))),
            (.noData(timeToLive: nil), .noData(timeToLive: nil), .noData(timeToLive: nil)),
            (.nameError(timeToLive: .seconds(9)), .nameError(timeToLive: nil), .nameError(timeToLive: .seconds(9))),
            (.nameError(timeToLive: .seconds(9)), failed, failed("AAAA: SERVFAIL")),
            (failed, .nameError(timeToLive: .seconds(9)), failed("A: SERVFAIL")),
            (failed, .noData(timeToLive: .seconds(9)), failed("A: SERVFAIL")),
            (.nameError(timeToLive: nil), .noData(timeToLive: .seconds(3)), .noData(timeToLive: .seconds(3))),
            (.noData(timeToLive: .seconds(9)), failed, failed("AAAA: SERVFAIL")),
            (failed, failed, failed),
            (nil, failed, failed("no outcome for A, which was asked for")),
            (nil, nil, failed("no outcome for A, which was asked for", .badResponse)),
            (
                .addresses([], timeToLive: .seconds(9), canonicalName: nil), .noData(timeToLive: .seconds(9)),
                .noData(timeToLive: .seconds(9))
            ),
            (
                .addresses([v6], timeToLive: .seconds(9), canonicalName: nil), failed,
                failed("A answered with addresses of the other family")
            ),
        ] as [(HTTPDNSProviderAnswer.Family?, HTTPDNSProviderAnswer.Family?, HTTPDNSProviderAnswer.Family)]
    )
    func combines(
        v4: HTTPDNSProviderAnswer.Family?,
        v6: HTTPDNSProviderAnswer.Family?,
        expected: HTTPDNSProviderAnswer.Family
    ) {
        #expect(HTTPDNSProviderAnswer(v4: v4, v6: v6).outcome(of: .both) == expected)
    }

    @Test(
        "Failed HTTPS records change no addresses, and make a negative answer a failure",
        arguments: [HTTPDNSProviderAnswer.Family.nameError(timeToLive: .seconds(9)), .noData(timeToLive: nil), found4]
    )
    func failedHTTPSRecords(outcome: HTTPDNSProviderAnswer.Family) {
        var answer = HTTPDNSProviderAnswer(v4: outcome)
        answer.httpsRecords = .failed(HTTPDNSProviderError(code: .timedOut, message: "late"))
        let expected = outcome == Self.found4 ? outcome : Self.failed("HTTPS records: late", .timedOut)
        #expect(answer.outcome(of: .v4) == expected)
    }

    @Test("A family that was not asked for is ignored")
    func ignoresOthers() {
        let answer = HTTPDNSProviderAnswer(v4: ProviderAnswerOutcomeTests.found4, v6: ProviderAnswerOutcomeTests.found6)
        #expect(answer.outcome(of: .v4) == ProviderAnswerOutcomeTests.found4)
    }

    @Test("Duplicates are dropped, and 16 addresses of a family are kept")
    func bounds() {
        let many = (0..<200).flatMap { number in
            let address = HTTPDNSAddress(v4: 203, 0, 113, UInt8(number))
            return [address, address]
        }
        let answer = HTTPDNSProviderAnswer(v4: .addresses(many, timeToLive: .seconds(1), canonicalName: nil))
        guard case .addresses(let kept, _, _) = answer.outcome(of: .v4) else {
            Issue.record("no addresses")
            return
        }
        #expect(kept == (0..<16).map { HTTPDNSAddress(v4: 203, 0, 113, $0) })
    }
}
