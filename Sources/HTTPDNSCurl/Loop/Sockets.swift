// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// Opens a socket that child processes do not inherit; -1 and the error number on failure.
func openSocket(_ family: Int32, _ type: Int32, _ transportProtocol: Int32) -> (descriptor: Int32, error: Int32) {
    // Linux defines SOCK_CLOEXEC as O_CLOEXEC. The first name belongs to Glibc's module or to libcurl's, whichever the
    // compiler loads first.
    let descriptor = socket(family, type | O_CLOEXEC, transportProtocol)
    return (descriptor, descriptor < 0 ? errno : 0)
}

func closeSocket(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}

/// Returns the inode, which distinguishes a socket from a later one with the same descriptor; 0 when the descriptor is not
/// open.
func socketIdentity(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
}

/// Returns whether two C strings have the same bytes.
func textsAreEqual(_ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>) -> Bool {
    strcmp(left, right) == 0
}

/// Shuts a connection down in both directions; the descriptor stays open.
///
/// libcurl quirk: Unread bytes look alive (7.88). libcurl considers a connection alive while a byte can be read. So the unread
/// bytes are dropped, and none follow. Tests: StrayBytesTests.
func shutdownSocket(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
        while recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
}

/// Returns the number of received and unread bytes of a socket (FIONREAD, tcp(7)); 0 when it is unknown.
func receivedBytes(of descriptor: Int32) -> Int32 {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
}

/// Returns the local port of an Internet socket; -1 when it has none.
func localPort(of descriptor: Int32) -> Int32 {
    // Both kinds of addresses have their port at the same offset.
    address(of: descriptor, getsockname).map { Int32(UInt16(bigEndian: $0.sin6_port)) } ?? -1
}

/// Returns whether a socket is connected with itself: both ends have one address and port.
func isConnectedToItself(_ descriptor: Int32) -> Bool {
    guard let local = address(of: descriptor, getsockname), let peer = address(of: descriptor, getpeername),
        isInternetFamily(Int32(local.sin6_family))
    else { return false }
    return withUnsafeBytes(of: local) { local in withUnsafeBytes(of: peer) { local.elementsEqual($0) } }
}

/// Returns an address of a socket as the longer one of IPv4 and IPv6; `nil` when it has none.
private func address(
    of descriptor: Int32,
    _ name: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
) -> sockaddr_in6? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
    }
    return result == 0 ? address : nil
}

/// Lets the close of a connection reset it (SO_LINGER of socket(7)), so that its port is free immediately.
func resetAtClose(_ descriptor: Int32) {
    var value = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
}

/// The kernel's report about the bytes sent on a TCP connection (TCP_INFO, tcp(7)).
struct SendingState: Equatable {
    /// Whether bytes were sent and are not acknowledged.
    var hasUnacknowledged = false
    /// The number of times that the kernel has retransmitted the oldest of them (RFC 6298).
    var retransmissions = 0
    /// The unanswered probes of a closed window (RFC 9293 section 3.8.6.1) or of an idle peer (keepalive). If bytes were in
    /// transit when the window closed, the kernel retransmits those in place of probes, and counts only the longer waits.
    var probes = 0
    /// Nanoseconds since the peer last acknowledged anything.
    var sinceAcknowledgment: Int64 = 0
    /// Nanoseconds since bytes were last sent, retransmissions included.
    var sinceTransmission: Int64 = 0

    /// Whether bytes were retransmitted, or a probe was sent, without any response since. The first acknowledgment of a peer
    /// with a closed window ends that: the peer is slow, and its path works.
    var isUnanswered: Bool {
        guard hasUnacknowledged else { return probes > 0 }
        return (retransmissions > 0 || probes > 0) && sinceTransmission <= sinceAcknowledgment
    }
}

/// Returns the kernel's report about a connection; `nil` for one that is not TCP, and elsewhere than on Linux.
func sendingState(of descriptor: Int32) -> SendingState? {
    var info = tcp_info()
    var length = socklen_t(MemoryLayout<tcp_info>.size)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
    return SendingState(
        hasUnacknowledged: info.tcpi_unacked > 0,
        retransmissions: Int(info.tcpi_retransmits),
        // The longer waits continue while probes are acknowledged, until the window opens.
        probes: Int(info.tcpi_unacked > 0 ? info.tcpi_backoff : info.tcpi_probes),
        sinceAcknowledgment: Int64(info.tcpi_last_ack_recv) * 1_000_000,
        sinceTransmission: Int64(info.tcpi_last_data_sent) * 1_000_000
    )
}

/// Bounds the time that sent bytes may stay unacknowledged (RFC 5482); without effect elsewhere than on Linux.
/// - Parameter limit: `nil` means the kernel's own limit.
func setUserTimeout(of descriptor: Int32, _ limit: Duration?) {
    var value = limit.map { UInt32(min(max(1, $0.wholeNanoseconds / 1_000_000), Int64(Int32.max))) } ?? 0
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &value, socklen_t(MemoryLayout<UInt32>.size))
}

/// Returns whether sockets of a family are TCP sockets, and not Unix sockets.
func isInternetFamily(_ family: Int32) -> Bool {
    family == AF_INET || family == AF_INET6
}

/// Switches keepalive on (SO_KEEPALIVE of socket(7), TCP_KEEPIDLE, TCP_KEEPINTVL and TCP_KEEPCNT of tcp(7)).
func setKeepalive(of descriptor: Int32, _ keepalive: HTTPDNSTransfer.TCPKeepalive) {
    func set(_ level: Int32, _ name: Int32, _ value: Int64) {
        var value = Int32(clamping: value)
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    set(SOL_SOCKET, SO_KEEPALIVE, 1)
    set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, keepalive.idle.components.seconds)
    set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, keepalive.interval.components.seconds)
    set(Int32(IPPROTO_TCP), TCP_KEEPCNT, Int64(keepalive.count))
}
