// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// The IPv6 routes of the machine, checked at most every ten seconds: routes change.
package struct RouteProbe {
    private static let life: Int64 = 10_000_000_000
    /// The maximum number of addresses checked in that time on a machine without a route to the Internet; a check takes a few
    /// microseconds of the loop.
    static let maximumAnswers = 256
    /// 2001:4860:4860::8888, which represents any address of the Internet.
    private static let internet = HTTPDNSAddress(family: .v6, high: 0x2001_4860_4860_0000, low: 0x8888)

    private let look: @Sendable (HTTPDNSAddress) -> Bool
    private var hasInternet = false
    /// The results for single addresses, without a route to the Internet.
    private var answers: [HTTPDNSAddress: Bool] = [:]
    private var goodUntil = Int64.min

    init(_ look: @escaping @Sendable (HTTPDNSAddress) -> Bool) { self.look = look }

    /// Returns whether there is a route to the Internet.
    mutating func hasIPv6(at now: Int64) -> Bool {
        if now >= goodUntil {
            hasInternet = look(RouteProbe.internet)
            answers.removeAll(keepingCapacity: true)
            goodUntil = now + RouteProbe.life
        }
        return hasInternet
    }

    /// Returns whether there is a route to an address. Without a route to the Internet there may be one to a machine on the
    /// same link with a global address, or into another network. Local addresses (`fc00::/7`, `fe80::/10`) and those of this
    /// machine are not checked.
    mutating func hasRoute(to address: HTTPDNSAddress, at now: Int64) -> Bool {
        guard !hasIPv6(at: now), address.isInGlobalIPv6Block else { return true }
        if let known = answers[address] { return known }
        guard answers.count < RouteProbe.maximumAnswers else { return false }
        let answer = look(address)
        answers[address] = answer
        return answer
    }

    /// Returns whether this machine can reach IPv6 addresses beyond itself and one link: it has a route to the Internet, or an
    /// address that is neither loopback nor link-local.
    package static func systemHasIPv6() -> Bool { systemHasRoute(to: internet) || hasIPv6Address() }

    private static func hasIPv6Address() -> Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return false }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard let address = UnsafeRawPointer(entry.pointee.ifa_addr),
                address.loadUnaligned(as: sockaddr.self).sa_family == sa_family_t(AF_INET6)
            else { continue }
            let bytes = withUnsafeBytes(of: address.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
            let isLinkLocal = bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
            if !isLinkLocal, bytes != Array(repeating: 0, count: 15) + [1] { return true }
        }
        return false
    }

    /// Returns whether the kernel has a route to an IPv6 address. Connecting a datagram socket checks that without sending
    /// anything.
    static func systemHasRoute(to address: HTTPDNSAddress) -> Bool {
        let (descriptor, _) = openSocket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { _ = closeSocket(descriptor) }
        return HTTPDNSEndpoint(address: address, port: 443).withSocketAddress { connect(descriptor, $0, $1) == 0 }
    }
}

extension HTTPDNSAddress {
    /// Whether the address is in 2000::/3, the block from which the Internet's IPv6 addresses are assigned (RFC 4291 section
    /// 2.4).
    fileprivate var isInGlobalIPv6Block: Bool {
        family == .v6 && high >> 61 == 1
    }
}
