internal import HTTPDNSPrimitives

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
///
/// The bytes that lie unread are dropped, and none follow: libcurl takes a connection for alive as long as a byte can be read (7.88).
func shutdownSocket(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
        while recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
}

/// The number of bytes that have arrived on a socket and are not read (FIONREAD, tcp(7)); 0 when that is not known.
func receivedBytes(of descriptor: Int32) -> Int32 {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
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

/// The kernel's report about the bytes sent on a TCP connection (TCP_INFO, tcp(7)).
struct SendingState: Equatable {
    /// Whether bytes were sent and are not acknowledged.
    var hasUnacknowledged = false
    /// The number of times that the kernel has sent the oldest of them again (RFC 6298).
    var retransmissions = 0
    /// Probes of a closed window (RFC 9293 section 3.8.6.1) or of an idle peer (keepalive) that have no answer yet. Where bytes were
    /// under way when the window closed, the kernel sends those again in place of probes, and counts only the longer waits.
    var probes = 0
    /// Nanoseconds since the peer last acknowledged anything.
    var sinceAcknowledgment: Int64 = 0
    /// Nanoseconds since bytes were last sent, retransmissions included.
    var sinceTransmission: Int64 = 0

    /// Whether bytes were sent again, or a probe was sent, and nothing has come back since. The first acknowledgment of a peer
    /// whose window is closed ends that: it is slow, and the path to it works.
    var isUnanswered: Bool {
        guard hasUnacknowledged else { return probes > 0 }
        return (retransmissions > 0 || probes > 0) && sinceTransmission <= sinceAcknowledgment
    }
}

/// Asks the kernel about a connection; nil for one that is not TCP's, and elsewhere than on Linux.
func sendingState(of descriptor: Int32) -> SendingState? {
    #if os(Linux)
    var info = tcp_info()
    var length = socklen_t(MemoryLayout<tcp_info>.size)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
    return SendingState(
        hasUnacknowledged: info.tcpi_unacked > 0,
        retransmissions: Int(info.tcpi_retransmits),
        // The longer waits go on while probes are acknowledged, until the window opens.
        probes: Int(info.tcpi_unacked > 0 ? info.tcpi_backoff : info.tcpi_probes),
        sinceAcknowledgment: Int64(info.tcpi_last_ack_recv) * 1_000_000,
        sinceTransmission: Int64(info.tcpi_last_data_sent) * 1_000_000
    )
    #else
    return nil
    #endif
}

/// Bounds how long sent bytes may go without acknowledgement (RFC 5482); elsewhere than on Linux nothing happens.
/// - Parameter limit: Nil means the kernel's own limit.
func setUserTimeout(of descriptor: Int32, _ limit: Duration?) {
    #if os(Linux)
    var value = limit.map { UInt32(min(max(1, $0.wholeNanoseconds / 1_000_000), Int64(Int32.max))) } ?? 0
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &value, socklen_t(MemoryLayout<UInt32>.size))
    #endif
}
