// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A server process that ends with its last reference, and with this process however that ends: a shell between them reads from
/// a pipe that closes then.
final class GuardedProcess: Sendable {
    /// The server's folder; removed at its end.
    let folder: String
    private let process: ChildProcess
    private let output: FileDescriptor
    private let lifeline: FileDescriptor

    private static let script = """
        folder=$1; shift
        "$@" </dev/null & server=$!
        # Ends when the pipe does, or with the server.
        (while kill -0 $server 2>/dev/null; do sleep 1; done; kill -TERM $$ 2>/dev/null) & watcher=$!
        trap 'kill -TERM $server 2>/dev/null' TERM
        read -r _
        kill -TERM $server $watcher 2>/dev/null
        wait $server
        rm -rf "$folder"
        """

    private static let reservations = Lock<[FileDescriptor]>([])

    /// Creates a folder that other users may read, for servers that do not stay root.
    static func newFolder() throws -> String {
        var name = Array("/tmp/httpdns-server.XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw SystemCallError("mkdtemp") }
        let folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try checked("chmod \(folder)", chmod(folder, 0o755))
        return folder
    }

    /// Reserves a port for a server on 127.0.0.1, until this process ends: no other reservation has it meanwhile, of this process
    /// or of `Scripts/servers/processes.sh`. It is below the system's range of ephemeral ports (32768 to 60999), where clients'
    /// sockets are.
    static func reservePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 16_000..<32_000)
            guard let socket = try? SocketAddress("127.0.0.1", port).reservation() else { continue }
            reservations.withLock { $0.append(socket) }
            return port
        }
        throw RigError("no free port between 16000 and 32000")
    }

    /// Ends the program, and returns when its port can be listened on again.
    func stop(freeing port: UInt16) async throws {
        process.send(SIGTERM)
        try await onBlockingThread {
            let deadline = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < deadline {
                if (try? SocketAddress("127.0.0.1", port).listeningSocket(backlog: 1)) != nil { return }
                usleep(20_000)
            }
            throw RigError("port \(port) did not become free")
        }
    }

    /// Starts a program, and returns when its port accepts connections.
    /// - Throws: ``RigError`` with the program's output, when it does not.
    init(
        _ program: String,
        _ arguments: [String],
        folder: String,
        port: UInt16,
        environment: [String: String]? = nil
    ) async throws {
        guard let path = Command.find(program) else { throw RigError("\(program) is not installed") }
        let output = try FileDescriptor.unnamedFile()
        let (reading, writing) = try FileDescriptor.pipe()
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", GuardedProcess.script, "sh", folder, path] + arguments,
            environment: environment,
            input: reading,
            output: output,
            error: output
        )
        (self.folder, self.process, self.output, lifeline) = (folder, process, output, writing)
        try await onBlockingThread {
            let deadline = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < deadline, process.exitStatus == nil {
                let socket = try SocketAddress("127.0.0.1", port).connectingSocket()
                var poll = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
                if Glibc.poll(&poll, 1, 1_000) == 1, poll.revents & Int16(POLLERR | POLLHUP) == 0 { return }
                usleep(20_000)
            }
            throw RigError("\(program) did not begin: \(String(decoding: output.contents(), as: UTF8.self))")
        }
    }
}
