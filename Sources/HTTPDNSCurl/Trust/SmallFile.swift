#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Files that are read whole: certificates, keys, passwords.
enum SmallFile {
    /// Why a file could not be read, in words that name no content.
    struct Unreadable: Error {
        let reason: String
    }

    /// - Parameter maximum: More octets than this are refused.
    static func read(_ path: String, maximum: Int) throws(Unreadable) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(reason: systemErrorText(errno)) }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while octets.count <= maximum {
            let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Unreadable(reason: systemErrorText(errno)) }
            guard count > 0 else { return octets }
            octets += chunk[..<count]
        }
        throw Unreadable(reason: "it has more than \(maximum) octets")
    }
}

/// `read` under a name that the functions above do not hide.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
