#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Writes to a socket.
enum SocketOctets {
    /// Writes some of the bytes. A closed connection is an error, and causes no signal.
    /// - Returns: The number of bytes; negative when `errno` has the error.
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
