// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The store of TLS sessions that a handle uses. It stays with the handle until the next transfer needs another.
struct SessionLease {
    private var sessions: TLSSessions?
    /// The serial number of the pin that the sessions belong to.
    private var pin: UInt64 = 0
    private var isTaken = false

    /// Uses the given store from now on.
    private mutating func use(_ sessions: TLSSessions, by curl: UnsafeMutableRawPointer) {
        guard self.sessions !== sessions else { return }
        sessions.use(by: curl)
        self.sessions = sessions
    }

    /// Sets an empty store before libcurl creates its own, which it would lose with the first store of a pin (libcurl
    /// quirk "Sessions belong to a handle").
    mutating func useNone(_ noSessions: TLSSessions, by curl: UnsafeMutableRawPointer) {
        // Session stores outlive a reset of the options (`curl_easy_reset`).
        if sessions == nil { use(noSessions, by: curl) }
    }

    /// Takes a store of the pin for the transfer.
    mutating func take(of pin: Pin, by curl: UnsafeMutableRawPointer) {
        let own = self.pin == pin.serial || sessions?.isEmpty == true ? sessions : nil
        use(pin.sessions.take(own), by: curl)
        self.pin = pin.serial
        isTaken = true
    }

    mutating func giveBack(to pin: Pin?) {
        guard isTaken, let sessions else { return }
        pin?.sessions.giveBack(sessions)
        isTaken = false
    }

    /// Forgets the store of a handle that is gone.
    mutating func forget() { sessions = nil }

    /// Makes libcurl forget which connection its last transfer used (libcurl quirk "The last connection is looked
    /// for"). libcurl must have ended the transfer.
    func forgetConnection(of curl: UnsafeMutableRawPointer, _ noConnections: EmptyConnectionPool) {
        guard let sessions else { return }
        noConnections.forgetConnection(of: curl)
        sessions.use(by: curl)
    }
}
