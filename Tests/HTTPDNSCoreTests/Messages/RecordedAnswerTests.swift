// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct RecordedAnswerTests {
    private static let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)

    @Test(
        "Each recorded answer gives the outcome that dig shows for it",
        arguments: [
            (
                RecordedAnswer.multiple,
                HTTPDNSProviderAnswer.Family.addresses(
                    [loopback2, HTTPDNSAddress(v4: 127, 0, 0, 3), HTTPDNSAddress(v4: 127, 0, 0, 4)],
                    timeToLive: .seconds(60),
                    canonicalName: nil
                )
            ),
            (
                .ipv6,
                .addresses([HTTPDNSAddress(family: .v6, high: 0, low: 1)], timeToLive: .seconds(60), canonicalName: nil)
            ),
            (.aliases, .addresses([loopback2], timeToLive: .seconds(1), canonicalName: try? HTTPDNSName("a.test"))),
            (.nameError, .nameError(timeToLive: .seconds(5))),
            (.noData, .noData(timeToLive: .seconds(5))),
            (.dangling, .nameError(timeToLive: .seconds(5))),
            (.outside, .noData(timeToLive: nil)),
            (.serverFailure, .failed(.sample(.serverFailure))),
            (.refused, .failed(.sample(.refused))),
            (.loop, .failed(.sample(.serverFailure))),
            (.zero, .addresses([loopback2], timeToLive: .seconds(0), canonicalName: nil)),
            (.longest, .addresses([loopback2], timeToLive: .seconds(604_800), canonicalName: nil)),
        ]
    )
    func outcome(answer: RecordedAnswer, expected: HTTPDNSProviderAnswer.Family) throws {
        #expect(try DNSResponse(parsing: answer.octets, to: answer.question).outcome() == expected)
    }

    @Test("No prefix and no suffix of a recorded answer is accepted", arguments: RecordedAnswer.all)
    func cut(answer: RecordedAnswer) {
        let octets = answer.octets
        for length in 0..<octets.count {
            #expect(parsingError(Array(octets.prefix(length)), answer.question) != nil, "the first \(length) octets")
            #expect(parsingError(Array(octets.suffix(length)), answer.question) != nil, "the last \(length) octets")
        }
    }

    @Test("An octet after the end of the message is refused", arguments: RecordedAnswer.all)
    func trailing(answer: RecordedAnswer) {
        #expect(parsingError(answer.octets + [0], answer.question) == .trailingBytes)
    }

    @Test(
        "Any one flipped bit still gives an outcome or a typed error",
        arguments: RecordedAnswer.all
    )
    func flipped(answer: RecordedAnswer) throws {
        let octets = answer.octets
        var outcomes = 0
        for bit in 0..<octets.count * 8 {
            var damaged = octets
            damaged[bit / 8] ^= 1 << (bit % 8)
            do {
                let outcome = try DNSResponse(parsing: damaged, to: answer.question).outcome()
                #expect(isWellFormed(outcome, question: answer.question))
                outcomes += 1
            } catch {
                #expect(!error.reason.isEmpty)
            }
        }
        // Flags and times to live may change without breaking the form.
        #expect(outcomes > 0)
        #expect(outcomes < octets.count * 8)
    }
}

/// What holds for every outcome, whatever the message.
func isWellFormed(_ outcome: HTTPDNSProviderAnswer.Family, question: DNSQuestion) -> Bool {
    switch outcome {
    case .addresses(let addresses, let timeToLive, let canonicalName):
        let family: HTTPDNSAddress.Family = question.type == .a ? .v4 : .v6
        return (1...16).contains(addresses.count) && Set(addresses).count == addresses.count
            && addresses.allSatisfy { $0.family == family } && timeToLive <= .seconds(604_800)
            && canonicalName.map(DNSName.init) != question.name
    case .noData(let timeToLive), .nameError(let timeToLive):
        return (timeToLive ?? .zero) <= .seconds(604_800)
    case .failed(let error):
        // NOERROR is a referral.
        return error != .sample(.nameError)
    }
}
