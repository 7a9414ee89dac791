// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The facts of a transfer that libcurl's callbacks have found.
struct TransferFindings {
    /// The reason for which a kept connection that libcurl took must not carry the request.
    enum Rejection {
        /// It does not belong to the pin, or has stray bytes.
        case isUnfit
        /// Its server is about to close it. Another kept connection may carry the request.
        case isExpired
    }

    var rejection: Rejection?
    /// The version that TLS negotiated, for the transfer that opened the connection.
    var negotiated: HTTPDNSTransfer.HTTPVersion?
    /// The error number of a failed attempt to get a socket; 0 on success.
    var socketError: Int32 = 0
    /// The pin of the server's public key, as compared by libcurl.
    var serverKeyPin: String?
    /// The names in the server's certificate, if the request's name is none of them.
    var refusedNames: [String] = []
    /// The durations of the phases before the body, and the number of new connections; read once, when the head is complete.
    var phaseTimings: HTTPDNSTransfer.Timings?
    var connects = 0
    /// The index of the attempt in the transfer's notes; -1 when it was not noted.
    var noteIndex = -1
}

/// The end of a transfer, as far as it is decided.
struct TransferEnding {
    /// The failure with which a callback stopped the transfer; it takes precedence over libcurl's own code.
    var failure: TransferFailure? {
        didSet { hasFailed = failure != nil }
    }
    /// The same information in one byte: each transfer checks it, and few fail.
    private(set) var hasFailed = false
    /// Whether it was stopped because another attempt carries the request.
    private(set) var hasLostRace = false
    /// Whether the transfer succeeded.
    var isSuccess = false

    /// The failure of an attempt that was too late. Callers never see it.
    static let lostRace = TransferFailure(code: .connectOnly, phase: .send, message: "another endpoint was faster")

    /// Stops the attempt: another one carries the request.
    mutating func loseRace() {
        failure = TransferEnding.lostRace
        hasLostRace = true
    }

    mutating func reset() {
        if hasFailed { failure = nil }
        hasLostRace = false
        isSuccess = false
    }
}
