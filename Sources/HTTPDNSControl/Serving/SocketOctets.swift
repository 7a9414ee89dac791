#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Writing to a socket.
enum SocketOctets {
    /// Writes some of the octets. A peer that went away is an error, and no signal for the process.
    /// - Returns: How many; below zero when `errno` says why none.
    static func write(_ octets: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        octets.withUnsafeBytes { buffer in
            #if canImport(Darwin)
            send(descriptor, buffer.baseAddress, buffer.count, 0)
            #else
            send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            #endif
        }
    }
}
