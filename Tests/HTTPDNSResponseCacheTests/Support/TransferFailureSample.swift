// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl

/// Failures as a transport reports them.
enum TransferFailureSample {
    /// A connection that broke while the body arrived.
    static let lost = TransferFailure(code: .connectionLost, phase: .body, message: "cut")
    /// A server that refuses connections.
    static let refused = TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
    /// A connection that ended before the response.
    static var closed: TransferFailure {
        var failure = TransferFailure(code: .connectionLost, phase: .firstByte, message: "closed")
        failure.requestMayHaveBeenSent = true
        return failure
    }
}
