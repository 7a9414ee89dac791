internal import Glibc

/// The address of a Unix socket with a name in the file system (`unix(7)`).
struct SocketAddress {
    private var address = sockaddr_un()

    /// The maximum number of bytes of a path, without the NUL at its end.
    static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Returns: Nil for a path that is empty, too long, or has a NUL in it.
    init?(path: String) {
        let octets = Array(path.utf8)
        guard (1...SocketAddress.maximumPath).contains(octets.count), !octets.contains(0) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
    }

    private func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Returns a stream socket that child processes do not inherit.
    /// - Throws: The number of the system's error.
    static func newSocket(isBlocking: Bool) throws(SystemErrorNumber) -> Int32 {
        var type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        if !isBlocking { type |= Int32(SOCK_NONBLOCK.rawValue) }
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw SystemErrorNumber(errno) }
        return descriptor
    }

    func connect(_ descriptor: Int32) throws(SystemErrorNumber) {
        let result = withPointer { address, length in
            Glibc.connect(descriptor, address, length)
        }
        guard result == 0 else { throw SystemErrorNumber(errno) }
    }

    func bind(_ descriptor: Int32) throws(SystemErrorNumber) {
        let result = withPointer { address, length in
            Glibc.bind(descriptor, address, length)
        }
        guard result == 0 else { throw SystemErrorNumber(errno) }
    }
}
