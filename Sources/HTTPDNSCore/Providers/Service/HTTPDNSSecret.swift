// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
package import HTTPDNSPrimitives

/// A secret that is read from a file, an environment variable or a closure when a request is signed.
///
/// It is read again for each signature, so that the next query uses a changed secret. Its text appears in no description, dump,
/// error or log of this package.
public struct HTTPDNSSecret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
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
    /// Returns the secret of a source in memory.
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

    /// Returns whether both have the same source: the same file, variable, closure or text.
    public static func == (left: HTTPDNSSecret, right: HTTPDNSSecret) -> Bool {
        left.origin == right.origin && left.identity == right.identity
    }

    /// Hashes the source, never the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(origin) }

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
    /// only the service has. While the file system does not answer for a second, the secret that was read last stays in use.
    public static func file(_ path: String) -> HTTPDNSSecret {
        let file = SecretFile.at(path)
        return HTTPDNSSecret(origin: "in the file \(path)", file: file) { try file.textNow() }
    }

    /// Creates a secret from the value of an environment variable.
    public static func environment(_ name: String) -> HTTPDNSSecret {
        HTTPDNSSecret(origin: "in the environment variable \(name)") {
            guard let value = getenv(name) else { throw SmallFile.Unreadable(reason: "it is not set") }
            return String(cString: value)
        }
    }

    /// Whether it is read from a file.
    package var isInFile: Bool { file != nil }

    /// The source of the secret, never its text.
    public var description: String { "a secret \(origin)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the secret. A file is read on a separate thread: a file system that hangs blocks no thread of Swift's tasks.
    /// - Parameter deadline: The end of the wait for a file, on `clock`.
    /// - Throws: ``SecretError``; `CancellationError` when the task is canceled.
    package func current(
        until deadline: MonotonicTime? = nil,
        on clock: some TimeSource = SystemTimeSource()
    ) async throws -> String {
        guard let file else { return try read() }
        do {
            return try checked(try await file.text(until: deadline, on: clock))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw failure(error)
        }
    }

    /// Returns the secret on the calling thread, which waits for a file for a few seconds at most.
    package func read() throws(SecretError) -> String {
        let value: String
        do {
            value = try text()
        } catch {
            throw failure(error)
        }
        return try checked(value)
    }

    private func checked(_ value: String) throws(SecretError) -> String {
        guard !value.isEmpty else { throw SecretError(description: "the secret \(origin) is empty") }
        return value
    }

    private func failure(_ error: any Error) -> SecretError {
        if let error = error as? SecretError { return error }
        let reason =
            switch error {
            case let error as SmallFile.Unreadable: error.reason
            case let error as SharedReadError: error.description
            // The error of a closure may contain the secret.
            default: "the closure threw an error"
            }
        return SecretError(
            description: "the secret \(origin) cannot be read: \(reason)",
            isOverdue: error as? SharedReadError == .overdue
        )
    }
}

/// The reason why a secret cannot be used. It contains no part of the secret.
package struct SecretError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether its file was not read in time.
    package var isOverdue = false
}

/// A file with a secret. All secrets of one path share it: the file is read by one thread at a time.
final class SecretFile: Sendable {
    private final class Reference: Sendable {
        weak let file: SecretFile?
        init(_ file: SecretFile) { self.file = file }
    }

    /// The maximum size of a secret's file, in bytes; vendors' secrets have about 30.
    private static let maximumOctets = 4096
    /// The time for which a caller waits for the file before it takes the secret that was read last.
    private static let patience = Duration.seconds(1)
    /// The longest wait of a caller that is not asynchronous.
    private static let longestBlock = Duration.seconds(5)

    private static let files = Lock<[String: Reference]>([:])

    private let path: String
    private let reads = SharedRead<String>()
    /// The text of the last read; `nil` when that failed.
    private let last = Lock<String?>(nil)

    private init(_ path: String) { self.path = path }

    deinit {
        // Another one may have taken its place. It is released outside of the lock.
        let other = SecretFile.files.withLock { files -> SecretFile? in
            let other = files[path]?.file
            if other == nil { files[path] = nil }
            return other
        }
        _ = consume other
    }

    static func at(_ path: String) -> SecretFile {
        files.withLock { files in
            if let file = files[path]?.file { return file }
            let file = SecretFile(path)
            files[path] = Reference(file)
            return file
        }
    }

    /// - Throws: `SmallFile.Unreadable`, ``SharedReadError``, `CancellationError`.
    func text(until deadline: MonotonicTime?, on clock: some TimeSource) async throws -> String {
        guard let known = last.withLock({ $0 }) else {
            return try await reads.value(until: deadline, on: clock) { [self] in try read() }.value
        }
        let now = SystemTimeSource().now()
        var end = (reads.startedAt ?? now) + SecretFile.patience
        // Two clocks, which are one outside of tests.
        if let deadline { end = min(end, now + (deadline - clock.now())) }
        if end <= now { return known }
        do {
            return try await reads.value(until: end) { [self] in try read() }.value
        } catch SharedReadError.overdue {
            return known
        }
    }

    /// - Throws: `SmallFile.Unreadable`, ``SharedReadError``.
    func textNow() throws -> String {
        try reads.valueNow(within: SecretFile.longestBlock) { [self] in try read() }
    }

    private func read() throws -> String {
        let result = Result { () throws(SmallFile.Unreadable) in
            var bytes = try SmallFile.read(path, maximum: SecretFile.maximumOctets, isSecret: true)
            while let last = bytes.last, last == 0x0a || last == 0x0d { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw SmallFile.Unreadable(reason: "it is not UTF-8")
            }
            return text
        }
        last.withLock { $0 = try? result.get() }
        return try result.get()
    }
}
