internal import Glibc

/// Writes to a socket.
enum SocketOctets {
    /// Writes some of the bytes. A closed connection is an error, and causes no signal.
    /// - Returns: The number of bytes; negative when `errno` has the error.
    static func write(_ octets: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        octets.withUnsafeBytes { buffer in
            send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
        }
    }
}
