// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

extension HTTPDNSClientError {
    /// The attempts of a call in order, in bounded memory: a call that waits for the network for an hour has tens of thousands.
    struct AttemptTrail {
        /// The number of attempts that are kept at each end.
        static let kept = 64

        /// The first and the last attempts.
        private(set) var attempts: [Attempt]
        /// The number of attempts between them that are left out.
        private(set) var leftOut: Int

        init(_ attempts: [Attempt] = [], leftOut: Int = 0) {
            (self.attempts, self.leftOut) = (attempts, leftOut)
            bound()
        }

        mutating func append(_ later: AttemptTrail) {
            attempts += later.attempts
            leftOut += later.leftOut
            bound()
        }

        func appending(_ later: AttemptTrail) -> AttemptTrail {
            var trail = self
            trail.append(later)
            return trail
        }

        private mutating func bound() {
            let excess = attempts.count - 2 * AttemptTrail.kept
            guard excess > 0 else { return }
            attempts.removeSubrange(AttemptTrail.kept..<(AttemptTrail.kept + excess))
            leftOut += excess
        }
    }

    /// ``attempts`` and ``attemptsLeftOut``.
    var trail: AttemptTrail {
        get { AttemptTrail(attempts, leftOut: attemptsLeftOut) }
        set { (attempts, attemptsLeftOut) = (newValue.attempts, newValue.leftOut) }
    }

    /// Whether the request failed without a connection, before anything of it was sent.
    var isAboutConnection: Bool {
        // Other addresses would go through the same proxy.
        !requestMayHaveBeenSent && code != .proxyUnreachable
            && (underlying as? TransferFailure)?.isAboutConnection ?? false
    }

    /// Returns the error with the attempts of the addresses before.
    func after(_ first: HTTPDNSClientError?) -> HTTPDNSClientError {
        guard let first else { return self }
        var error = self
        error.trail = first.trail.appending(error.trail)
        return error
    }

    /// Returns the error with the result of the system path added.
    func followed(by second: HTTPDNSClientError) -> HTTPDNSClientError {
        var error = self
        error.usedSystemFallback = true
        error.trail.append(second.trail)
        error.requestMayHaveBeenSent = error.requestMayHaveBeenSent || second.requestMayHaveBeenSent
        error.message += "; by the system resolver: \(second.message)"
        return error
    }
}
