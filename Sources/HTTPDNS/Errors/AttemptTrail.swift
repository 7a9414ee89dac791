// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
}
