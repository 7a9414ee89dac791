// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl

/// The program's exit statuses. Docs/CommandLine.md has the table.
enum ExitStatus {
    static let done: Int32 = 0
    /// A name, connection or answer failed.
    static let failed: Int32 = 1
    /// The arguments or the configuration cannot be used. No request was sent.
    static let usage: Int32 = 2

    /// `compare`: an answer is suspicious.
    static let suspicious: Int32 = 3

    /// Returns the status of a program that a signal ended, as shells count it.
    static func signal(_ number: Int32) -> Int32 { 128 + number }
}

/// The exit statuses of curl, which `fetch` uses for failures of the same meaning.
enum CurlExitStatus {
    static let unsupportedProtocol: Int32 = 1
    static let proxyNotResolved: Int32 = 5
    static let hostNotResolved: Int32 = 6
    static let connectFailed: Int32 = 7
    static let strangeReply: Int32 = 8
    static let partialBody: Int32 = 18
    static let httpStatus: Int32 = 22
    static let writeFailed: Int32 = 23
    static let readFailed: Int32 = 26
    static let timedOut: Int32 = 28
    static let rangeRefused: Int32 = 33
    static let tlsFailed: Int32 = 35
    static let interfaceFailed: Int32 = 45
    static let tooManyRedirects: Int32 = 47
    static let receiveFailed: Int32 = 56
    static let certificateRefused: Int32 = 60
    static let badContentCoding: Int32 = 61
    static let bodyTooLarge: Int32 = 63
    static let keyPinMismatch: Int32 = 90
    static let authenticationFailed: Int32 = 94

    /// The codes of libcurl for a broken connection or response: HTTP/2 (16, 92), a partial body (18), an empty reply (52),
    /// sending (55), receiving (56), a strange reply (1, 8), a SOCKS proxy (97).
    private static let ofTransfers: Set<Int32> = [1, 8, 16, 18, 52, 55, 56, 92, 97]

    /// Returns the status for an error of the client; nil when curl has none with this meaning.
    static func status(of error: HTTPDNSClientError) -> Int32? {
        let failure = error.underlying as? TransferFailure
        let transfer = failure.flatMap { ofTransfers.contains($0.curlCode) ? $0.curlCode : nil }
        return switch error.code {
        case .resolveFailed: error.proxy == nil ? hostNotResolved : proxyNotResolved
        case .connectFailed:
            failure?.code == .tlsFailed || failure?.code == .clientCertificateRefused ? tlsFailed : connectFailed
        case .certificateRefused: failure?.curlCode == keyPinMismatch ? keyPinMismatch : certificateRefused
        case .proxyUnreachable where error.phase == .resolve: proxyNotResolved
        case .proxyUnreachable: transfer == 97 ? 97 : connectFailed
        case .proxyRefused, .proxyLoginRefused: transfer ?? receiveFailed
        case .localSourceUnusable: interfaceFailed
        case .timedOut: timedOut
        case .connectionLost: transfer ?? receiveFailed
        case .transportFailed: transfer
        case .protocolViolation: transfer ?? strangeReply
        case .responseTooLarge: bodyTooLarge
        case .decodingFailed: badContentCoding
        case .fileFailed: writeFailed
        case .requestBodyFailed: readFailed
        case .tooManyRedirects, .redirectLoop: tooManyRedirects
        case .redirectRefused: unsupportedProtocol
        case .authenticationFailed: authenticationFailed
        default: nil
        }
    }
}
#endif
