// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import Testing

@testable import HTTPDNSPrimitives

struct LoopbackSocketTests {
    @Test("A fixed port can be opened again after connections that its process has closed")
    func reopens() throws {
        let free = try LoopbackSocket(backlog: 1)
        close(free.descriptor)
        let first = try LoopbackSocket(port: free.port, backlog: 1)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = first.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        // The side that closes first has the connection in TIME_WAIT.
        close(accept(first.descriptor, nil, nil))
        close(first.descriptor)
        close(client)
        let second = try LoopbackSocket(port: first.port, backlog: 1)
        #expect(second.port == first.port)
        close(second.descriptor)
    }
}
