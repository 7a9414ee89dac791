// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A secret that is read from a file, an environment variable or a closure when a request is signed.
///
/// It is read again for each signature, so that the next query uses a changed secret. Its text appears in no description, dump,
/// error or log of this package.
public struct HTTPDNSSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The maximum size of a secret's file, in bytes; vendors' secrets have about 30.
    private static let maximumOctets = 4096

    /// The identity of a secret, for comparisons.
    private enum Identity: Equatable, Sendable {
        /// The origin identifies the secret.
        case place
        /// The closure itself: its result is not compared.
        case closure(Token)
        /// The secret itself.
        case text(String)
    }

    /// An object that is used only for its identity.
    private final class Token: Equatable, Sendable {
        static func == (left: Token, right: Token) -> Bool { left === right }
    }

    private let origin: String
    /// The file reader; `nil` for a secret that is in memory.
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

    /// Whether both have the same source: the same file, the same variable, or the same closure.
    package func isSame(as other: HTTPDNSSecret) -> Bool { origin == other.origin && identity == other.identity }

    /// Returns whether both have the same source, or there is none.
    package static func isSame(_ left: HTTPDNSSecret?, _ right: HTTPDNSSecret?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isSame(as: right)
    }

    /// Creates a secret from its text, which is written where it is used.
    package static func text(_ text: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in a text", identity: .text(text)) { text }
    }

    /// Creates a secret from a closure. The closure is called for each signature and from any task: it must return quickly,
    /// from memory. An error that it throws fails the query; its text appears nowhere.
    public init(_ text: @escaping @Sendable () throws -> String) {
        self.init(origin: "from a closure", identity: .closure(Token()), text: text)
    }

    /// Creates a secret from a file's content, without trailing line ends: at most 4096 bytes of UTF-8.
    ///
    /// A file that is readable by all users, or writable by its group, is rejected. Use `chmod 600`, or 640 with a group that
    /// only the service has.
    public static func file(_ path: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in the file \(path)", file: SecretFile()) { try contents(of: path) }
    }

    /// Creates a secret from the value of an environment variable.
    public static func environment(_ name: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in the environment variable \(name)") {
            guard let value = getenv(name) else { throw Unreadable(reason: "it is not set") }
            return String(cString: value)
        }
    }

    /// The source of the secret, never its text.
    public var description: String { "a secret \(origin)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the secret. A file is read on a separate thread: a file system that hangs blocks no thread of Swift's tasks.
    /// - Throws: ``SecretError``; `CancellationError` when the task is canceled.
    package func current() async throws -> String {
        guard let file else { return try read() }
        return try await file.read { [self] () throws(SecretError) in try read() }
    }

    /// Returns the secret, read on the calling thread.
    package func read() throws(SecretError) -> String {
        let value: String
        do {
            value = try text()
        } catch {
            // The error of a closure may contain the secret.
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
            throw Unreadable(reason: "it has more than \(maximumOctets) bytes")
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

/// The reason why a secret cannot be used. It contains no part of the secret.
package struct SecretError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Calls the system's `read`: the functions above hide its own name.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}

/// A reader of one file on a separate thread, shared by concurrent callers. A file system that hangs blocks one thread, however
/// many queries need the file.
final class SecretFile: Sendable {
    private let waiting = Lock<[OneShot<Result<String, any Error>>]>([])

    /// - Parameter read: Reads the file; it may block.
    /// - Throws: The error of `read`; `CancellationError` when the task is canceled.
    func read(_ read: @escaping @Sendable () throws(SecretError) -> String) async throws -> String {
        let waiter = OneShot<Result<String, any Error>>()
        let isFirst = waiting.withLock { waiting in
            waiting.append(waiter)
            return waiting.count == 1
        }
        if isFirst, !DetachedThread.start({ self.end(Result { try read() }) }) {
            let message = "the system gives no thread to read a secret; check the limit of threads (ulimit -u)"
            end(.failure(SecretError(description: message)))
        }
        let result = await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.failure(CancellationError()))
        }
        return try result.get()
    }

    private func end(_ result: Result<String, any Error>) {
        let waiters = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for waiter in waiters { waiter.deliver(result) }
    }
}
