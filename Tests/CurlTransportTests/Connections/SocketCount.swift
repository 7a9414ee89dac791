import Foundation

/// The sockets of this process, by where they lead.
enum SocketCount {
    /// How many sockets of this process have a peer with a port.
    static func connected(to port: UInt16) -> Int { descriptors(connectedTo: port).count }

    /// Sockets of this process whose peer has a port, open descriptors of dead connections included as far as the kernel
    /// still knows the peer.
    static func descriptors(connectedTo port: UInt16) -> [Int32] {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.compactMap { Int32($0) }.filter { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &length)
                }
            }
            return result == 0 && UInt16(bigEndian: address.sin_port) == port
        }
    }
}
