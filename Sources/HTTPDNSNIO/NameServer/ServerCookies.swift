// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSPrimitives

/// The cookies of a name server, which prove that a client receives what is sent to its address (RFC 7873). A value.
struct ServerCookies: Sendable {
    /// The time for which a cookie counts (RFC 9018 section 4.3).
    static let life: UInt32 = 3600
    private static let version: [UInt8] = [1, 0, 0, 0]

    /// The secret is hashed with the data: the seed of the standard library's hash can be fixed by the environment. That hash, SipHash,
    /// has the strength that cookies need (RFC 9018 section 4.4).
    private let secret: [UInt64]

    init(using generator: inout some RandomNumberGenerator) {
        secret = (0..<4).map { _ in generator.next() }
    }

    /// Returns the cookie for a client.
    /// - Parameter seconds: The time, of any clock that goes on.
    func cookie(_ clientCookie: [UInt8], _ address: HTTPDNSAddress, at seconds: UInt32) -> [UInt8] {
        let head = Self.version + (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) }
        var hasher = Hasher()
        hasher.combine(secret)
        hasher.combine(clientCookie)
        hasher.combine(head)
        hasher.combine(address)
        let hash = hasher.finalize()
        return head + (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
    }

    /// Returns whether a cookie was made for the client, not long ago.
    func isValid(_ cookie: [UInt8], _ clientCookie: [UInt8], _ address: HTTPDNSAddress, at seconds: UInt32) -> Bool {
        guard cookie.count == 16 else { return false }
        let made = cookie[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
        guard seconds &- made <= Self.life else { return false }
        // Byte by byte, so that the time tells nothing.
        let expected = self.cookie(clientCookie, address, at: made)
        return zip(expected, cookie).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
