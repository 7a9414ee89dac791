#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A socket that a child process does not inherit, or -1 with the error's number.
func openSocket(_ family: Int32, _ type: Int32, _ transportProtocol: Int32) -> (descriptor: Int32, error: Int32) {
    #if os(Linux)
    let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transportProtocol)
    #else
    let descriptor = socket(family, type, transportProtocol)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #endif
    return (descriptor, descriptor < 0 ? errno : 0)
}

func closeSocket(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}

/// What tells a socket from a later one with the same number: its inode; 0 when the descriptor is not open.
func socketIdentity(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
}

/// Whether two C strings are the same bytes.
func textsAreEqual(_ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>) -> Bool {
    strcmp(left, right) == 0
}

/// What the system calls an error number.
package func systemErrorText(_ number: Int32) -> String {
    String(cString: strerror(number))
}

/// Ends a connection in both directions; the descriptor stays.
func shutdownSocket(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
}

/// The local port of an Internet socket; -1 when it has none.
func localPort(of descriptor: Int32) -> Int32 {
    // sockaddr_in6 is the longer of the two, and both have their port in the same place.
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return result == 0 ? Int32(UInt16(bigEndian: address.sin6_port)) : -1
}

/// What the kernel knows of bytes that were sent on a connection.
enum SentBytes {
    /// All are acknowledged, or nothing is known.
    case acknowledged
    /// Some are not, yet.
    case underWay
    /// Some are not, and the kernel has sent them again: nobody has answered for a retransmission time-out (RFC 6298).
    case sentAgain
}

/// Asks the kernel about a TCP connection (TCP_INFO); elsewhere than on Linux nothing is known.
func sentBytes(of descriptor: Int32) -> SentBytes {
    #if os(Linux)
    var info = tcp_info()
    var length = socklen_t(MemoryLayout<tcp_info>.size)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0, info.tcpi_unacked > 0 else {
        return .acknowledged
    }
    return info.tcpi_retransmits > 0 ? .sentAgain : .underWay
    #else
    return .acknowledged
    #endif
}

/// Bounds how long sent bytes may go without acknowledgement (RFC 5482); elsewhere than on Linux nothing happens.
func setUserTimeout(of descriptor: Int32, milliseconds: Int64) {
    #if os(Linux)
    var value = UInt32(min(max(1, milliseconds), Int64(Int32.max)))
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &value, socklen_t(MemoryLayout<UInt32>.size))
    #endif
}
