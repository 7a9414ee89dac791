// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The blocking call of `getaddrinfo`, with addresses in the order that the system returns (RFC 6724).
///
/// The search list of `resolv.conf` applies, as it does for other programs, unless the name had a trailing dot.
/// `AI_ADDRCONFIG` is not set: it ignores loopback addresses, and so hides entries of the hosts file on a machine that has no
/// others. The caller decides which families to query.
enum AddressInfoLookup {
    static func addresses(
        of host: HTTPDNSName,
        families: HTTPDNSAddress.Families
    ) -> Result<[HTTPDNSAddress], SystemResolverError> {
        var hints = addrinfo()
        hints.ai_family =
            switch families {
            case .v4: AF_INET
            case .v6: AF_INET6
            default: AF_UNSPEC
            }
        // One entry per address; with socket type 0 there is one for each of TCP, UDP and raw.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)

        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host.queryText, nil, &hints, &list)
        let systemError = errno
        guard status == 0 else {
            return .failure(AddressInfoError.error(status: status, systemError: systemError, host: host))
        }
        defer { if let list { freeaddrinfo(list) } }

        var addresses: [HTTPDNSAddress] = []
        var seen: Set<HTTPDNSAddress> = []
        var next = list
        while let entry = next {
            if let address = address(in: entry.pointee), seen.insert(address).inserted { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return .success(addresses)
    }

    private static func address(in entry: addrinfo) -> HTTPDNSAddress? {
        guard let socketAddress = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET where Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in>.size:
            let address = socketAddress.loadUnaligned(as: sockaddr_in.self).sin_addr
            return withUnsafeBytes(of: address) { HTTPDNSAddress(bytes: $0) }
        case AF_INET6 where Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in6>.size:
            let address = socketAddress.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: address) { HTTPDNSAddress(bytes: $0) }
        default:
            return nil
        }
    }
}

/// The meaning of `getaddrinfo`'s error numbers, and the suggested actions.
enum AddressInfoError {
    static func error(status: Int32, systemError: Int32, host: HTTPDNSName) -> SystemResolverError {
        let reason = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
        let (code, advice) = meaning(of: status, systemError: systemError)
        return SystemResolverError(
            code: code,
            message: "the system resolver has no address for \(host): \(reason); \(advice)"
        )
    }

    private static func meaning(of status: Int32, systemError: Int32) -> (SystemResolverError.Code, String) {
        switch status {
        case EAI_NONAME:
            return (.nameNotFound, "check the name, or give it a mapping or a route to a provider")
        case noData, noAddressOfFamily:
            return (.noAddresses, "ask for the other family too, or give it a mapping")
        case EAI_AGAIN:
            return (.failed, "the name servers of /etc/resolv.conf do not answer; try again, or check that file")
        case EAI_SYSTEM:
            let text = strerror(systemError).map { String(cString: $0) } ?? "error \(systemError)"
            return (.failed, "\(text); check the limits of the process and /etc/nsswitch.conf")
        case EAI_MEMORY:
            return (.failed, "the process has no memory left")
        default:
            return (.failed, "check /etc/resolv.conf and the name servers in it")
        }
    }

    // In <netdb.h> behind a feature macro that Swift does not set; the numbers are the same in glibc and musl.
    private static let noData: Int32 = -5
    private static let noAddressOfFamily: Int32 = -9
}

/// The cached check for a route to IPv6 addresses, repeated at most every ten seconds.
final class IPv6Route: Sendable {
    /// The validity of a check. Routes change, and a check takes some microseconds.
    static let life: Duration = .seconds(10)

    private let look: @Sendable () -> Bool
    private let known = Lock<(exists: Bool, until: MonotonicTime)?>(nil)

    init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

    func exists(at now: MonotonicTime) -> Bool {
        if let known = known.withLock({ $0 }), now < known.until { return known.exists }
        let exists = look()
        known.withLock { $0 = (exists, now + IPv6Route.life) }
        return exists
    }
}
