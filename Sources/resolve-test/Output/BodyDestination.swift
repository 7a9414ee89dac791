// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
// The type `stat` belongs to this module when another file of the compilation imports it.
internal import CDispatch
internal import Foundation
internal import HTTPDNS

/// The destination of a response body, or of a file about the traffic. A file is complete or absent.
final class BodyDestination: Sendable {
    private enum Target {
        case nowhere
        case stream(StandardStream)
        case file(ReplacedFile)
    }

    private let target: Target

    /// - Parameter path: The value of `-o`: a path, `-` for standard output, nil for no output.
    /// - Throws: A failure when the file cannot be created, before any request is sent.
    init(path: String?, standardOutput: StandardStream, option: String = "-o") throws(CommandFailure) {
        switch path {
        case nil: target = .nowhere
        case "-": target = .stream(standardOutput)
        case let path?: target = try Self.open(path, of: option, isPrivate: false)
        }
    }

    /// Opens a file that gets bytes behind those that it has. What arrives is there at once, so that it can be continued again.
    init(appendingTo path: String) throws(CommandFailure) {
        let descriptor = Foundation.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .outputFailed("-o \(path): \(SystemError.text(errno))") }
        target = .stream(StandardStream(descriptor: descriptor))
    }

    /// Creates a file that only this user can read.
    /// - Parameter option: The option that has the path.
    init(path: String, of option: String) throws(CommandFailure) {
        target = try Self.open(path, of: option, isPrivate: true)
    }

    /// The path of the file, without links; nil for no file.
    var path: String? {
        if case .file(let file) = target { file.path } else { nil }
    }

    func write(_ chunk: [UInt8]) throws(CommandFailure) {
        switch target {
        case .nowhere: break
        case .stream(let stream): try stream.write(chunk)
        case .file(let file):
            do throws(FileFault) { try file.append(chunk) } catch { throw Self.failure(error) }
        }
    }

    /// Moves the complete body into place.
    func finish() throws(CommandFailure) {
        guard case .file(let file) = target else { return }
        do throws(FileFault) { try file.finish() } catch { throw Self.failure(error) }
    }

    func discard() {
        if case .file(let file) = target { file.discard() }
    }

    /// Returns the size of a regular file; nil for anything else.
    static func size(ofFile path: String) -> Int? {
        guard let attributes = attributes(of: path), attributes[.type] as? FileAttributeType == .typeRegular else {
            return nil
        }
        return (attributes[.size] as? NSNumber)?.intValue
    }

    /// Returns the attributes of a file, with symbolic links followed; nil when it has none, as a pipe behind `/dev/stdout`.
    private static func attributes(of path: String) -> [FileAttributeKey: Any]? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return try? FileManager.default.attributesOfItem(atPath: String(cString: resolved))
    }

    private static func failure(_ fault: FileFault) -> CommandFailure {
        .outputFailed("cannot write \(fault)")
    }

    private static func open(_ path: String, of option: String, isPrivate: Bool) throws(CommandFailure) -> Target {
        guard !path.isEmpty else {
            let hint = option == "-o" ? "give -o FILE, or -o - for standard output" : "give \(option) FILE"
            throw .usage("\(option) has no value", hint: hint)
        }
        let type = attributes(of: path)?[.type] as? FileAttributeType
        if access(path, F_OK) == 0, type != .typeRegular {
            guard type != .typeDirectory else {
                throw .outputFailed("\(option) \(path) is a directory", hint: "give a file in it")
            }
            // Devices and pipes (/dev/null) are written to, never replaced.
            let descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .outputFailed("\(option) \(path): \(SystemError.text(errno))") }
            return .stream(StandardStream(descriptor: descriptor))
        }
        do throws(FileFault) {
            return .file(try ReplacedFile(path, isPrivate: isPrivate))
        } catch {
            throw .outputFailed(
                "\(option) \(path): \(error.reason)",
                hint: "give a file in a folder that exists and can be written to"
            )
        }
    }
}

/// The progress of a long download, on a terminal only.
struct DownloadProgress {
    private let stream: StandardStream?
    private let start = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private let expected: Int?

    /// - Parameter expected: The length that the server announced.
    init(on stream: StandardStream, expected: Int?, isWanted: Bool) {
        self.stream = isWanted ? stream : nil
        self.expected = expected
    }

    /// Updates the line: none for a short response, ten times a second for a long one.
    mutating func update(received: Int) {
        guard let stream else { return }
        let now = ContinuousClock.now
        guard start.duration(to: now) > .seconds(1), last.map({ $0.duration(to: now) > .milliseconds(100) }) ?? true
        else {
            return
        }
        last = now
        let seconds = start.duration(to: now) / .seconds(1)
        stream.say("\r\u{1B}[K" + Self.text(received: received, expected: expected, seconds: seconds))
    }

    func finish() {
        guard let stream, last != nil else { return }
        stream.say("\r\u{1B}[K")
    }

    static func text(received: Int, expected: Int?, seconds: Double) -> String {
        let share = expected.flatMap { $0 > 0 ? " (\(min(100, received * 100 / $0)) %)" : nil } ?? ""
        let rate = seconds > 0 ? Double(received) / seconds : 0
        return "       \(Figures.bytes(received))\(share)  \(Figures.fixed(rate / 1_048_576, places: 1)) MiB/s"
    }
}
#endif
