// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives

@testable import HTTPDNSControl

/// A connection that sends what a test says, and not what the protocol does. It gives up after ten seconds.
final class BareConnection {
    let descriptor: Int32

    init(_ path: String) throws {
        descriptor = try UnixSocketAddress.newSocket(isBlocking: true)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
        guard let address = UnixSocketAddress(path: path) else { throw SystemErrorNumber(EINVAL) }
        try address.connect(descriptor)
    }

    deinit { close(descriptor) }

    /// - Returns: Whether the service took all of it.
    @discardableResult
    func send(_ octets: [UInt8]) -> Bool {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = SocketOctets.write(rest, to: descriptor)
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Everything until the service hangs up; nil when it does not.
    func readAll() -> String? {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 || count < 0 && errno == ECONNRESET { return String(decoding: all, as: UTF8.self) }
            guard count > 0 else { return nil }
            all += buffer[..<count]
        }
    }

    /// The next line; nil when there is none.
    func readLine() -> String? {
        var line: [UInt8] = []
        var octet: UInt8 = 0
        while read(descriptor, &octet, 1) == 1 {
            if octet == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(octet)
        }
        return nil
    }
}
