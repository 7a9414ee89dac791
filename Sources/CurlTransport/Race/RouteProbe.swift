internal import CCurl
internal import HTTPDNSPrimitives

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Whether the machine has a way for IPv6, looked at again at most every ten seconds: routes come and go.
struct RouteProbe {
    private static let life: Int64 = 10_000_000_000

    private let look: @Sendable () -> Bool
    private var answer = false
    private var goodUntil = Int64.min

    init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

    mutating func hasIPv6(at now: Int64) -> Bool {
        if now >= goodUntil {
            answer = look()
            goodUntil = now + RouteProbe.life
        }
        return answer
    }

    /// Whether the kernel knows a route to a global IPv6 address. Connecting a datagram socket asks it that and sends nothing.
    static func systemHasIPv6() -> Bool {
        #if os(Linux)
        let (descriptor, _) = openSocket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        let (descriptor, _) = openSocket(AF_INET6, SOCK_DGRAM, 0)
        #endif
        guard descriptor >= 0 else { return false }
        defer { _ = closeSocket(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(443).bigEndian
        // 2001:4860:4860::8888, any address of the global block 2000::/3 would do.
        let bytes: [UInt8] = [0x20, 0x01, 0x48, 0x60, 0x48, 0x60, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88]
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }
}
