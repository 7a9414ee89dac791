internal import Glibc

/// Small files that are read whole: certificates, keys, passwords.
enum SmallFile {
    /// The reason why a file could not be read, without any of its content.
    struct Unreadable: Error {
        let reason: String
    }

    /// - Parameter maximum: The maximum size in bytes.
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

/// Calls the system's `read`: the functions above hide its own name.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
