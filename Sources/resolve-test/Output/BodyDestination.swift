internal import Foundation
internal import HTTPDNSPrimitives

/// Where the body of an answer goes.
///
/// A file is written under another name beside its own and renamed once it is whole; every other end removes it.
final class BodyDestination: Sendable {
    private enum Target {
        case nowhere
        case stream(StandardStream)
        case file(StandardStream, temporary: String, final: String)
    }

    private let target: Target
    private let isFinished = Lock(false)

    /// - Parameter path: The value of `-o`: a path, `-` for standard output, nil for nowhere.
    /// - Throws: A usage failure when the file cannot be made, before anything is sent.
    init(path: String?, standardOutput: StandardStream) throws(CommandFailure) {
        switch path {
        case nil: target = .nowhere
        case "-": target = .stream(standardOutput)
        case let path?: target = try Self.open(path)
        }
    }

    deinit { discard() }

    func write(_ chunk: [UInt8]) throws(CommandFailure) {
        switch target {
        case .nowhere: break
        case .stream(let stream), .file(let stream, temporary: _, final: _): try stream.write(chunk)
        }
    }

    /// Puts the whole body in its place.
    func finish() throws(CommandFailure) {
        guard takeEnd(), case .file(let stream, let temporary, let final) = target else { return }
        let closed = close(stream.descriptor)
        guard closed == 0, rename(temporary, final) == 0 else {
            let reason = SystemError.text(errno)
            unlink(temporary)
            throw .failed(code: "output-failed", "cannot write \(final): \(reason)")
        }
    }

    /// Leaves no half file.
    func discard() {
        guard takeEnd(), case .file(let stream, let temporary, final: _) = target else { return }
        close(stream.descriptor)
        unlink(temporary)
    }

    /// Whether this call is the one that ends it.
    private func takeEnd() -> Bool {
        isFinished.withLock { finished in
            defer { finished = true }
            return !finished
        }
    }

    private static func open(_ path: String) throws(CommandFailure) -> Target {
        guard !path.isEmpty else { throw .usage("-o names no file", hint: "-o FILE, or -o - for standard output") }
        // A link stays a link: the file that it leads to is replaced.
        let final =
            realpath(path, nil).map { resolved in
                defer { free(resolved) }
                return String(cString: resolved)
            } ?? path
        var status = stat()
        let exists = stat(final, &status) == 0
        if exists, status.st_mode & S_IFMT != S_IFREG {
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw .usage("-o \(path) is a directory", hint: "name a file in it")
            }
            // Devices and pipes (/dev/null) are written to, never replaced.
            let descriptor = Foundation.open(final, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .usage("-o \(path): \(SystemError.text(errno))") }
            return .stream(StandardStream(descriptor: descriptor))
        }
        var template = Array("\(final).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw .usage(
                "-o \(path): \(SystemError.text(errno))",
                hint: "name a file in a folder that can be written to"
            )
        }
        // mkstemp makes it private; the file gets the rights that a plain new file, or the one before it, has.
        fchmod(descriptor, exists ? status.st_mode & 0o777 : 0o666 & ~Self.creationMask)
        let temporary = template.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { String(cString: $0) } ?? ""
        }
        return .file(StandardStream(descriptor: descriptor), temporary: temporary, final: final)
    }

    /// The process's umask, which can only be read by setting it.
    private static var creationMask: mode_t {
        let mask = umask(0o022)
        umask(mask)
        return mask
    }
}
