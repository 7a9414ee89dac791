// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNS

extension FuzzTarget {
    /// The value of a field with challenges, or with the parameters of `Authentication-Info`.
    static let challenge = FuzzTarget(name: "challenge") { octets in
        let challenges = AuthenticationChallenge.all(in: octets)
        precondition(challenges.count <= AuthenticationChallenge.maximumChallenges)
        for challenge in challenges {
            precondition(!challenge.scheme.isEmpty && challenge.scheme.utf8.allSatisfy { (0x21...0x7e).contains($0) })
            precondition(challenge.parameters.count <= AuthenticationChallenge.maximumParameters)
            precondition(challenge.token68 == nil || challenge.parameters.isEmpty)
            for value in challenge.parameters.values {
                precondition(value.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 })
            }
        }
        if let challenge = DigestChallenge.strongest(of: challenges) {
            precondition(!challenge.isSession || challenge.protection != nil)
        }
        let information = AuthenticationChallenge.information(in: octets)
        precondition(information.count <= AuthenticationChallenge.maximumParameters)
    }
}
