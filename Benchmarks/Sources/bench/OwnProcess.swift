// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import ChildProcess
internal import DelayedOrigin
internal import Foundation

/// A child process with the runner's own executable. The kernel ends it with the runner, however that ends.
final class OwnProcess {
    private let process = Process()
    private let output = Pipe()

    /// - Throws: ``BenchError`` when it cannot be started.
    init(_ arguments: [String], on cores: Cores, core: Int?) throws {
        let own = [OwnProcess.executable.path] + arguments + ["--parent", "\(getpid())"]
        let command = core.map { cores.bind(own, to: $0) } ?? own
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw BenchError("\(command[0]) cannot be started: \(error.localizedDescription)")
        }
    }

    deinit {
        // A child begins with the signals that the runner ignores, which are SIGTERM and SIGINT.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Waits for the first line of output.
    func firstLine() throws -> String {
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data([10]) {
            line += byte
        }
        guard !line.isEmpty else { throw BenchError("\(process.arguments ?? []) wrote nothing") }
        return String(decoding: line, as: UTF8.self)
    }

    static var executable: URL { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath() }
}

/// Processes of class SCHED_IDLE that compute on the cores of a run, so that no core halts.
///
/// A core that halts wakes late and at a low clock rate, and the figures then depend on how often it halts. Such a process runs
/// only while nothing else wants its core, and its CPU time is in no contender's.
struct BusyCores {
    private let processes: [OwnProcess]

    init(_ cores: Cores) throws {
        processes = try cores.all.map { core in
            let process = try OwnProcess(["keep-busy", "--core", "\(core)"], on: cores, core: nil)
            _ = try process.firstLine()
            return process
        }
    }
}

/// Keeps a core busy. A process of its own, see ``BusyCores``.
struct KeepBusy: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "keep-busy", shouldDisplay: false)

    @Option var core: Int
    @Option var parent: Int32

    func run() throws {
        child_process_end_with(parent)
        print("busy")
        fflush(nil)
        child_process_keep_busy(Int32(core))
        throw BenchError("core \(core) cannot be kept busy: \(String(cString: strerror(errno)))")
    }
}

/// A server whose responses come late.
final class SlowOrigin {
    /// The address is none of the other origins', so that they share nothing.
    static let address = "127.0.0.8"

    private let port: String
    private let process: OwnProcess

    /// - Parameter delay: The time from a request to its response, in milliseconds.
    init(delay: Int, on cores: Cores, core: Int?) throws {
        let arguments = ["answer-late", "--address", Self.address, "--delay", "\(delay)"]
        process = try OwnProcess(arguments, on: cores, core: core)
        port = try process.firstLine()
    }

    /// - Parameter host: A name with its address, or that address.
    func url(_ host: String = SlowOrigin.address) -> String { "http://\(host):\(port)/1k" }
}

/// Serves requests late. A process of its own, see ``SlowOrigin``.
struct AnswerLate: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "answer-late", shouldDisplay: false)

    @Option var address: String
    @Option var delay: Int32
    @Option var parent: Int32

    func run() throws {
        child_process_end_with(parent)
        DescriptorLimit.raise()
        var port: Int32 = 0
        let listener = benchmark_origin_listen(address, &port)
        guard listener >= 0 else { throw BenchError("nothing can listen on \(address)") }
        print(port)
        fflush(nil)
        benchmark_origin_serve(listener, delay, 1024)
        throw BenchError("the late server failed: \(String(cString: strerror(errno)))")
    }
}
