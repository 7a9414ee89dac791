// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import HTTPTypes

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSMessages

/// What must hold whatever the octets were.
extension FuzzTarget {
    static func check(_ outcome: HTTPDNSProviderAnswer.Family, _ question: DNSQuestion) {
        switch outcome {
        case .addresses(let addresses, let timeToLive, _):
            precondition((1...DNSResponse.maximumAddresses).contains(addresses.count))
            precondition(Set(addresses).count == addresses.count, "an address is there once")
            precondition(addresses.allSatisfy { $0.family == (question.type == .a ? .v4 : .v6) })
            precondition(timeToLive <= longestLife)
        case .noData(let timeToLive), .nameError(let timeToLive):
            precondition((timeToLive ?? .zero) <= longestLife)
        case .failed:
            break
        }
    }

    static let longestLife = Duration.seconds(Int64(DNSTimeToLive.maximumSeconds))

    /// The freshness of an HTTP response without an age.
    static let freshness = HTTPFreshness(HTTPFields())

    /// Returns the error for a response code, which is that of a failure, or NOERROR of a referral.
    static func failure(_ code: DNSResponseCode) -> HTTPDNSProviderError {
        precondition(code != .nameError)
        return HTTPDNSProviderError(code: .serverFailure, message: "\(code)")
    }

    static func isOneLine(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }
}
