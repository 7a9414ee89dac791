// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The socket of a connection that a transfer makes for another protocol, and sends nothing on: see
/// ``TransferRequest/handedSocket``.
///
/// It is a copy of libcurl's descriptor, which libcurl closes. Nothing was read from it.
package final class HandedSocket: Sendable {
    private let descriptor = Lock<Int32>(-1)

    package init() {}

    deinit { if let socket = take() { close(socket) } }

    /// Returns the descriptor, which is the caller's to close from now on; nil without a connection, and the second time.
    package func take() -> Int32? {
        let socket = descriptor.withLock { descriptor in
            defer { descriptor = -1 }
            return descriptor
        }
        return socket >= 0 ? socket : nil
    }

    /// Takes a copy of a connected socket.
    /// - Returns: The system's error number; 0 for success.
    func copy(_ socket: Int32) -> Int32 {
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return errno }
        descriptor.withLock { $0 = copy }
        return 0
    }
}
