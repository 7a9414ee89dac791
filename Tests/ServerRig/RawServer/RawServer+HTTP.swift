// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension RawServer.Step {
    /// Sends an HTTP/1.1 response with its length.
    /// - Parameter fields: Further field lines, each with its CR LF.
    package static func respond(_ body: String = "", status: String = "200 OK", fields: String = "") -> Self {
        .sendText("HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Responds to each request without a body, without end.
    package static func serve(_ body: String = "", status: String = "200 OK", fields: String = "") -> Self {
        .repeatForever([.readHead, .respond(body, status: status, fields: fields)])
    }
}

extension RawServer {
    /// Everything that clients sent, one connection after the other, as text.
    package var text: String { connections.map(\.text).joined() }

    /// Returns how often clients sent a text.
    package func count(of text: String) -> Int { connections.reduce(0) { $0 + $1.text.ranges(of: text).count } }
}
