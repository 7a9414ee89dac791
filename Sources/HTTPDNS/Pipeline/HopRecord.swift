// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

/// The facts about a hop for its errors, also long after the head, while the body is read.
struct HopRecord: Sendable {
    let rewritten: HTTPDNSRewriter.RewrittenRequest
    let time: CallTime

    /// The host as the caller wrote it.
    var host: String { rewritten.content.url.host.description }
    /// The host and port, for messages.
    var origin: String { "\(rewritten.content.url.parsed.hostText):\(rewritten.content.url.port)" }
}
