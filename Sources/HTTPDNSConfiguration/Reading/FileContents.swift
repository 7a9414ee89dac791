internal import Glibc
internal import HTTPDNSPrimitives

/// Reading of whole files as UTF-8 text, with a limit.
enum FileContents {
    /// The maximum size of a file: a million rules of 16 bytes, far above what one file should hold.
    static let limit = 16 << 20

    /// Returns the text of a file.
    static func read(_ path: String) throws(ConfigurationFileError) -> String {
        try text(try reading(path).bytes, file: path)
    }

    /// Checks that bytes are UTF-8 text without NUL.
    static func text(_ bytes: [UInt8], file: String) throws(ConfigurationFileError) -> String {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            throw ConfigurationFileError(file, "the file is UTF-16; allowed: UTF-8", hint: "save it as UTF-8")
        }
        if let offset = firstBadByte(in: bytes) {
            let before = String(decoding: bytes[..<offset], as: UTF8.self)
            let position = Position(of: before.endIndex, in: before)
            throw ConfigurationFileError(
                file,
                "byte \(offset) (0x\(String(bytes[offset], radix: 16))) is not UTF-8; allowed: UTF-8 text",
                at: position,
                hint: "save the file as UTF-8"
            )
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A file and its status while it was read.
    struct Reading: Sendable {
        var bytes: [UInt8]
        /// The status of the file when the reading began.
        var sight: FileStatus?
        /// Whether the status was the same when the reading ended.
        var isSteady: Bool
    }

    /// Returns the bytes of a file.
    /// - Parameters:
    ///   - name: The name in errors; nil for its path.
    ///   - mayWait: Whether to wait for a writer when the path leads to a pipe. If not, only a regular file is read.
    static func reading(
        _ path: String,
        name: String? = nil,
        mayWait: Bool = true
    ) throws(ConfigurationFileError) -> Reading {
        let name = name ?? path
        guard !path.utf8.contains(0) else { throw ConfigurationFileError(name, "the path holds a NUL") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (mayWait ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw failure(name, errno) }
        defer { close(descriptor) }
        let before = FileStatus(descriptor: descriptor)
        if !mayWait, before?.isPlain == false {
            throw ConfigurationFileError(name, "it is no regular file, and only such a one can be read again")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(name, errno) }
            if count == 0 {
                return Reading(bytes: bytes, sight: before, isSteady: before == FileStatus(descriptor: descriptor))
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw ConfigurationFileError(
                    name,
                    "the file is larger than \(HTTPDNSByteCount.bytes(limit))",
                    hint: "is it a configuration file?"
                )
            }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> ConfigurationFileError {
        let hint: String? =
            switch code {
            case ENOENT: path.isEmpty ? "the path is empty" : "check the path; it is as seen from the working directory"
            case EACCES: "the process's user needs the right to read it"
            case EISDIR: "name the file inside it"
            default: nil
            }
        return ConfigurationFileError(path, "the configuration file cannot be read: \(reason(code))", hint: hint)
    }

    /// Returns the system's text for an error number.
    static func reason(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the index of the first sequence that RFC 3629 does not allow, or of a NUL, which no text contains.
    private static func firstBadByte(in bytes: [UInt8]) -> Int? {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue("\0"): return offset
            case .scalarValue(let scalar): offset += UTF8.width(scalar)
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}

/// `read` under a name that the functions above do not shadow.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
