// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// The sockets of this process, by where they lead.
enum SocketCount {
    /// The number of sockets of this process that lead to a port of 127.0.0.1.
    static func connected(to port: UInt16) -> Int { descriptors(connectedTo: port).count }

    /// Sockets of this process that lead to a port of an address, open descriptors of dead connections included as far as the
    /// kernel still knows the peer. Another test may have a server with this port at another address of loopback.
    static func descriptors(connectedTo port: UInt16, at host: String = "127.0.0.1") -> [Int32] {
        let expected = inet_addr(host)
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.compactMap { Int32($0) }.filter { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &length)
                }
            }
            return result == 0 && address.sin_family == sa_family_t(AF_INET)
                && address.sin_addr.s_addr == expected && UInt16(bigEndian: address.sin_port) == port
        }
    }
}
