// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// One parser under test: it is given any octets, and traps when it finds what must not be.
struct FuzzTarget: Sendable {
    /// The name on the command line, and of the file in `Corpus/`.
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    /// All targets. A new parser is a file in `Targets/` and a line here.
    static let all: [FuzzTarget] = [
        .alibaba,
        .capturedMessage,
        .challenge,
        .controlRequest,
        .decoding,
        .diskSnapshot,
        .dnsResponse,
        .jsonDNS,
        .mappingsFile,
        .proxyHandshake,
        .receivedQuery,
        .serverQuery,
        .setCookie,
        .tencent,
        .varlink,
    ]
}
