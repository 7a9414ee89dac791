// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The process that runs `Scripts/servers/start`. It ends, with its servers, when the pipe to it closes: also when this process
/// crashes.
final class Supervisor: Sendable {
    let folder: String
    private let process: ChildProcess
    private let log: FileDescriptor
    private let lifeline: Lock<FileDescriptor?>

    init(parts: [String], tlsPort: UInt16?) throws {
        var name = Array("/tmp/httpdns-rig.XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw SystemCallError("mkdtemp") }
        folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        log = try FileDescriptor.unnamedFile()
        let (reading, writing) = try FileDescriptor.pipe()
        process = try ChildProcess(
            Repository.path("Scripts/servers/start"),
            [folder, "--parts", parts.joined(separator: ","), "--watch-stdin", "--remove-folder"]
                + (tlsPort.map { ["--tls-port", "\($0)"] } ?? []),
            input: reading,
            output: log,
            error: log
        )
        lifeline = Lock(writing)
        Supervisor.register(self)
    }

    deinit { lifeline.withLock { $0 = nil } }

    /// Waits on the calling thread until the servers respond.
    /// - Returns: The contents of `ready.json`.
    /// - Throws: ``RigError`` with the script's output.
    func waitUntilReady(within limit: Duration) throws -> [UInt8] {
        let deadline = ContinuousClock.now + limit
        let watch = try FileWatch(folder)
        while true {
            let file = open("\(folder)/ready.json", O_RDONLY | O_CLOEXEC)
            if file >= 0 { return FileDescriptor(file).contents() }
            let failure: String?
            if let status = process.exitStatus {
                failure = "the test servers could not start (status \(status))"
            } else {
                failure = ContinuousClock.now >= deadline ? "the test servers were not ready within \(limit)" : nil
            }
            if let failure {
                stop()
                throw RigError("\(failure):\n\(String(decoding: log.contents(), as: UTF8.self))")
            }
            // In short waits, because the end of the script does not change the folder.
            watch.waitForChange(within: .milliseconds(50))
        }
    }

    /// Stops the servers; returns when they have ended.
    func stop() {
        lifeline.withLock { $0 = nil }
        if process.waitForExit(within: .seconds(10)) == nil {
            process.send(SIGKILL)
            _ = process.waitForExit(within: .seconds(5))
        }
    }

    // The supervisors still running when this process ends; weak, so that a rig may end earlier.
    private struct Entry: Sendable { weak let supervisor: Supervisor? }
    private static let started = Lock<[Entry]>([])
    private static let stopsAtExit: Void = {
        atexit { Supervisor.stopAll() }
    }()

    private static func register(_ supervisor: Supervisor) {
        _ = stopsAtExit
        started.withLock { $0.append(Entry(supervisor: supervisor)) }
    }

    private static func stopAll() {
        for supervisor in started.withLock({ $0.compactMap(\.supervisor) }) { supervisor.stop() }
    }
}
