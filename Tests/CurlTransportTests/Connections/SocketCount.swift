import Glibc

/// How many sockets of this process lead where.
enum SocketCount {
    /// Sockets of this process whose peer has a port, open descriptors of dead connections included as far as the kernel
    /// still knows the peer.
    static func connected(to port: UInt16) -> Int {
        (0..<4096).count { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(Int32(descriptor), $0, &length)
                }
            }
            return result == 0 && UInt16(bigEndian: address.sin_port) == port
        }
    }
}
