#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A secret that stays where it is until a request is signed: in a file, in an environment variable, or behind a closure.
///
/// It is read again for each signature, so that a secret that was changed is used by the next query. Its text stands in no
/// description, dump, error or log of this package.
public struct HTTPDNSSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The largest file that is read as a secret; those of vendors have some 30 octets.
    private static let maximumOctets = 4096

    /// What makes two secrets the same one.
    private enum Identity: Equatable, Sendable {
        /// Where it is says which one it is.
        case place
        /// What the closure does cannot be known, but which one it is.
        case closure(Token)
        /// The secret itself.
        case text(String)
    }

    /// An object for its identity alone.
    private final class Token: Equatable, Sendable {
        static func == (left: Token, right: Token) -> Bool { left === right }
    }

    private let origin: String
    /// Reads the file; nil for a secret that is at hand.
    private let file: SecretFile?
    private let identity: Identity
    private let text: @Sendable () throws -> String

    private init(
        origin: String,
        identity: Identity = .place,
        file: SecretFile? = nil,
        text: @escaping @Sendable () throws -> String
    ) {
        self.origin = origin
        self.file = file
        self.identity = identity
        self.text = text
    }

    /// Whether both are read from the same place: the same file, the same variable, one and the same closure.
    package func isSame(as other: HTTPDNSSecret) -> Bool { origin == other.origin && identity == other.identity }

    /// A secret that is known already, because somebody wrote it where it is used.
    package static func text(_ text: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in a text", identity: .text(text)) { text }
    }

    /// What the closure returns. It is called for each signature and from any task: it must be quick, and keep the secret at
    /// hand. An error of its own fails the query, and is not repeated anywhere.
    public init(_ text: @escaping @Sendable () throws -> String) {
        self.init(origin: "from a closure", identity: .closure(Token()), text: text)
    }

    /// The content of a file, without line ends at its end, at most 4096 octets of UTF-8.
    ///
    /// A file that everybody may read, or that its group may write, is refused: `chmod 600`, or 640 for a group of the
    /// service's own.
    public static func file(_ path: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in the file \(path)", file: SecretFile()) { try contents(of: path) }
    }

    /// The value of an environment variable.
    public static func environment(_ name: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in the environment variable \(name)") {
            guard let value = getenv(name) else { throw Unreadable(reason: "it is not set") }
            return String(cString: value)
        }
    }

    /// Where it is, never what it is.
    public var description: String { "a secret \(origin)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The secret. A file is read on a thread of its own: one on a file system that hangs blocks no thread of Swift's tasks.
    /// - Throws: ``SecretError``; `CancellationError` when the task is cancelled.
    package func current() async throws -> String {
        guard let file else { return try read() }
        return try await file.read { [self] () throws(SecretError) in try read() }
    }

    /// The secret, read on the calling thread.
    package func read() throws(SecretError) -> String {
        let value: String
        do {
            value = try text()
        } catch {
            // What a closure throws may have the secret in it.
            let reason = (error as? Unreadable)?.reason ?? "the closure threw an error"
            throw SecretError(description: "the secret \(origin) cannot be read: \(reason)")
        }
        guard !value.isEmpty else { throw SecretError(description: "the secret \(origin) is empty") }
        return value
    }

    private struct Unreadable: Error { let reason: String }

    private static func contents(of path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(reason: systemReason(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Unreadable(reason: systemReason(errno)) }
        guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & (S_IWGRP | S_IRWXO) == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Unreadable(reason: "its mode is \(mode), which lets others at it; chmod 600 it, or 640 for one group")
        }
        var octets: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: maximumOctets + 1)
        while octets.count <= maximumOctets {
            let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Unreadable(reason: systemReason(errno)) }
            guard count > 0 else { break }
            octets += chunk[..<count]
        }
        guard octets.count <= maximumOctets else {
            throw Unreadable(reason: "it has more than \(maximumOctets) octets")
        }
        while let last = octets.last, last == 0x0a || last == 0x0d { octets.removeLast() }
        guard let text = String(validating: octets, as: UTF8.self) else { throw Unreadable(reason: "it is not UTF-8") }
        return text
    }

    private static func systemReason(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Why a secret cannot be used, without a part of it.
package struct SecretError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// `read` under a name that the functions above do not hide.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
