// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A listener that takes connections, by the kernel alone, and never answers.
final class SilentOrigin: Sendable {
    /// The address is none of the other origin's, so that the two share nothing.
    private static let address = "127.0.0.9"
    /// The kernel cuts it to `net.core.somaxconn`, 4,096 as a rule.
    private static let backlog: Int32 = 4096

    let url: String
    private let descriptor: Int32

    /// - Throws: ``BenchError`` when the system gives no such socket.
    init() throws {
        let port = try Ports.takeFree(1)[0]
        descriptor = try Ports.listen(on: Self.address, port, backlog: Self.backlog)
        url = "http://\(Self.address):\(port)/"
    }

    deinit { close(descriptor) }
}
