// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSMessages

/// What must hold whatever the octets were.
extension FuzzTarget {
    static func check(_ outcome: DNSOutcome, _ question: DNSQuestion) {
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
    }

    static func isOneLine(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }
}
