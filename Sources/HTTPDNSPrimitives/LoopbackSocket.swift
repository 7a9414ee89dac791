// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A listening TCP socket on 127.0.0.1.
package struct LoopbackSocket: Sendable {
    /// The descriptor, which child processes do not inherit, and which is the caller's to close.
    package let descriptor: Int32
    /// The port.
    package let port: UInt16

    /// Opens it.
    /// - Parameter port: The port; 0 leaves the choice to the system.
    package init(port: UInt16 = 0, backlog: Int32) throws(SystemErrorNumber) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw SystemErrorNumber(errno) }
        // A fixed port is free again although connections of an earlier process are in TIME_WAIT.
        var one: Int32 = 1
        if port != 0 { setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size)) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> Int32 in
                guard bind(socket, pointer, size) == 0, listen(socket, backlog) == 0 else { return errno }
                return getsockname(socket, pointer, &size) == 0 ? 0 : errno
            }
        }
        guard number == 0 else {
            close(socket)
            throw SystemErrorNumber(number)
        }
        descriptor = socket
        self.port = UInt16(bigEndian: address.sin_port)
    }
}
