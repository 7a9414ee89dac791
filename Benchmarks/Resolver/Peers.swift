// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// What the peers keep of a name, by reference as the cache does, with a life that is checked as the cache's is.
final class PeerAnswer: Sendable {
    let addresses: [HTTPDNSAddress]
    let expiresAt: MonotonicTime

    init(_ addresses: [HTTPDNSAddress], expiresAt: MonotonicTime) {
        self.addresses = addresses
        self.expiresAt = expiresAt
    }
}

/// The plainest cache: it never evicts, and has no notion of failures, routes or families.
final class LockedDictionary: Sendable {
    private let answers: Mutex<[String: PeerAnswer]>

    init(_ answers: [String: PeerAnswer]) { self.answers = Mutex(answers) }

    func find(_ name: String) -> PeerAnswer? { answers.withLock { $0[name] } }
}

/// The same behind an actor.
actor DictionaryActor {
    private let answers: [String: PeerAnswer]

    init(_ answers: [String: PeerAnswer]) { self.answers = answers }

    func find(_ name: String) -> PeerAnswer? { answers[name] }
}
