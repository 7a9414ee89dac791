// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The facts of a transfer for the observers of its call: its attempts at endpoints, their times and their bytes.
///
/// The loop notes an attempt when its response head is complete, and again at its end, before the caller gets either. The caller
/// so has the facts of a transfer that was canceled too. Transfers of calls without observers have no notes.
package final class TransferNotes: Sendable {
    /// One attempt of a transfer at an endpoint.
    package struct Attempt: Sendable {
        package var endpoint: HTTPDNSEndpoint
        /// The time at which its connection was begun or looked for, on ``SystemTimeSource``.
        package var startedAt: MonotonicTime
        /// The phase that it has reached.
        package var phase: TransferFailure.Phase
        /// Whether it opened a connection.
        package var opensConnection: Bool
        /// The time at which its request was sent; `nil` when nothing was sent.
        package var sentAt: MonotonicTime?
        package var timings: HTTPDNSTransfer.Timings
        /// The result of the TLS handshake of its connection; `nil` in clear text, and before a request is sent.
        package var tls: HTTPDNSTransfer.TLSParameters?
        /// The certificates of the server, if they are kept.
        package var peerCertificates: [HTTPDNSTransfer.PeerCertificate]
        /// The bytes of the request head, as libcurl counts them.
        package var requestHeadBytes: Int
        /// The bytes of the request body.
        package var requestBodyBytes: Int
        /// The bytes of the response heads, those of interim responses too, as libcurl counts them.
        package var responseHeadBytes: Int
        /// The received bytes of the response body, before decoding.
        package var responseBodyBytes: Int
        /// The address and port of this machine on the connection; `nil` without a connection, and unless the notes keep it.
        package var localEndpoint: HTTPDNSEndpoint?
    }

    /// Whether attempts have their local endpoints.
    let keepsLocalEndpoints: Bool

    private struct State {
        var attempts: [Attempt] = []
        var endpoints: [HTTPDNSEndpoint] = []
    }

    private let noted = Lock(State())

    package init(keepsLocalEndpoints: Bool = false) { self.keepsLocalEndpoints = keepsLocalEndpoints }

    /// The endpoints of the transfer in the order of its attempts; empty for a single endpoint, and before the start.
    package var endpointsInOrder: [HTTPDNSEndpoint] { noted.withLock { $0.endpoints } }

    func note(order endpoints: [HTTPDNSEndpoint]) { noted.withLock { $0.endpoints = endpoints } }

    /// The attempts so far, in the order of their starts.
    package var attempts: [Attempt] {
        let attempts = noted.withLock { $0.attempts }
        return attempts.count < 2 ? attempts : attempts.sorted { $0.startedAt < $1.startedAt }
    }

    /// Adds an attempt, or replaces the earlier facts of it.
    /// - Parameter index: The index of the attempt; negative for one that was not noted.
    func note(_ attempt: Attempt, at index: inout Int) {
        index = noted.withLock { [index] noted in
            guard index < 0 else {
                let race = noted.attempts[index].timings.race
                noted.attempts[index] = attempt
                // The loop forgets the race of a transfer before it notes its attempt for the last time.
                if attempt.timings.race == nil, let race {
                    noted.attempts[index].timings.race = race
                    noted.attempts[index].timings.total = attempt.timings.total.map { $0 + race }
                }
                return index
            }
            noted.attempts.append(attempt)
            return noted.attempts.count - 1
        }
    }
}
