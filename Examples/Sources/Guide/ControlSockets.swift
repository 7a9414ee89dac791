// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor

/// Lets operators of this machine look into a client, and turn its kill switch, until `work` is done.
func serve(_ client: HTTPDNSClient, at path: String, while work: () async throws -> Void) async throws {
    let socket = try HTTPDNSControlSocket(client: client, path: path)
    do {
        try await work()
    } catch {
        await socket.shutdown()
        throw error
    }
    await socket.shutdown()
}

/// Opens a control socket that shows the redacted records of a client's calls.
func serveRecords(of client: HTTPDNSClient, at path: String) throws -> HTTPDNSControlSocket {
    let monitor = HTTPDNSTrafficMonitor()
    monitor.start(on: client)
    return try HTTPDNSControlSocket(client: client, path: path, monitor: monitor)
}
