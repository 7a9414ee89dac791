// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// TCP ports of this machine.
enum Ports {
    /// Ports that nobody listens on.
    /// - Throws: ``BenchError`` when most are taken.
    static func takeFree(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        // Below Linux's ephemeral ports, which client sockets come and go on.
        for port in (16_000..<32_000).shuffled().prefix(1000) where ports.count < count {
            if isFree(port) { ports.append(port) }
        }
        guard ports.count == count else { throw BenchError("no free TCP port between 16000 and 32000") }
        return ports
    }

    /// Whether a connection to the port is accepted.
    static func answers(_ host: String, _ port: Int) -> Bool {
        withSocket { descriptor in onAddress(host, port) { connect(descriptor, $0, $1) == 0 } }
    }

    /// A socket that listens.
    /// - Throws: ``BenchError`` when the system refuses.
    static func listen(on host: String, _ port: Int, backlog: Int32) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard onAddress(host, port, { bind(descriptor, $0, $1) == 0 }), Self.listen(descriptor, backlog) == 0 else {
            close(descriptor)
            throw BenchError("nothing can listen on \(host):\(port)")
        }
        return descriptor
    }

    private static func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 {
        Glibc.listen(descriptor, backlog)
    }

    private static func isFree(_ port: Int) -> Bool {
        withSocket { descriptor in
            // Without it, connections of an earlier run that are still closing would make the port look taken.
            var reuse: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
            return onAddress("0.0.0.0", port) { bind(descriptor, $0, $1) == 0 }
        }
    }

    private static func withSocket(_ body: (Int32) -> Bool) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return body(descriptor)
    }

    private static func onAddress(
        _ host: String,
        _ port: Int,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return false }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
