// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSMessages
@testable internal import HTTPDNSVendors

extension FuzzTarget {
    typealias VendorReading =
        @Sendable ([UInt8], VendorQuery) throws(VendorAnswerError) -> [HTTPDNSName: HTTPDNSProviderAnswer]

    /// What holds for whatever any vendor answered.
    static func check(_ question: VendorQuery, _ read: VendorReading, _ octets: [UInt8]) {
        do throws(VendorAnswerError) {
            let answers = try read(octets, question)
            precondition(!answers.isEmpty)
            for (host, answer) in answers {
                precondition(question.hosts.contains(host), "no name has a place in it that was not asked about")
                precondition((answer.v4 != nil) == question.families.contains(.v4))
                precondition((answer.v6 != nil) == question.families.contains(.v6))
                check(answer.v4, .v4)
                check(answer.v6, .v6)
            }
        } catch {
            precondition(isOneLine(error.description), "an error is one line of ASCII")
        }
    }

    private static func check(_ outcome: HTTPDNSProviderAnswer.Family?, _ family: HTTPDNSAddress.Family) {
        switch outcome {
        case nil: break
        case .addresses(let addresses, let life, _)?:
            precondition((1...DNSResponse.maximumAddresses).contains(addresses.count))
            precondition(Set(addresses).count == addresses.count, "an address is there once")
            precondition(addresses.allSatisfy { $0.family == family })
            precondition(life >= .seconds(1))
        case .noData(let life)?, .nameError(let life)?:
            precondition((life ?? .zero) <= HTTPDNSProviderAnswer.Family.longestAbsence)
        case .failed(let error)?:
            precondition(isOneLine(error.message))
        }
    }
}
