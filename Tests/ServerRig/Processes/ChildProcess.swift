// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A lock for the start of a process, and for code that marks a descriptor close-on-exec only after opening it: a child that
/// inherits a connection keeps it open.
let spawning = Lock(())

/// A child process of this one. Foundation's `Process` is not used: it starts a helper thread for each child and does not
/// guarantee that a pipe's end stays out of other children.
final class ChildProcess: Sendable {
    let processID: pid_t
    private let ending = Lock<Int32?>(nil)

    /// The open descriptors of this process, as reported by the system. One that is closed meanwhile is harmless: glibc skips
    /// it.
    private static var openDescriptors: [Int32] {
        guard let folder = opendir("/proc/self/fd") else { return [] }
        defer { closedir(folder) }
        var numbers: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }

    /// Starts `executable`, a path.
    /// - Parameter environment: The whole environment; `nil` means this process's.
    init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        input: FileDescriptor,
        output: FileDescriptor,
        error: FileDescriptor
    ) throws(SystemCallError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, source) in [input, output, error].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source.number, Int32(target))
        }
        // Every other open descriptor too: a file that a child holds open is not closed when its writer closes it.
        for number in ChildProcess.openDescriptors where number > 2 {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A thread of the concurrency runtime may have signals blocked; a child would inherit that and ignore TERM.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // It must not inherit ignored signals either, as from a program that handles Ctrl-C itself.
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let words = ([executable] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { $0.map { strdup("\($0)=\($1)") } + [nil] }
        defer {
            for word in words + (variables ?? []) { free(word) }
        }
        var processID: pid_t = 0
        let failure = spawning.withLock { _ in
            // `environ` is only passed on; nothing in this process changes the environment.
            if var variables {
                posix_spawn(&processID, executable, &actions, &attributes, words, &variables)
            } else {
                posix_spawn(&processID, executable, &actions, &attributes, words, environ)
            }
        }
        guard failure == 0 else { throw SystemCallError("posix_spawn \(executable)", number: failure) }
        self.processID = processID
    }

    /// Waits for an unawaited child on a separate thread. While an ended child is left, Swift Testing's thread for exit tests
    /// is notified of it repeatedly, and not of its own child.
    deinit {
        guard exitStatus == nil else { return }
        startThread { [processID] in
            while waitpid(processID, nil, 0) == -1 && errno == EINTR {}
        }
    }

    /// The status in a shell's form (128 + signal for a process ended by a signal); `nil` while it runs.
    var exitStatus: Int32? {
        ending.withLock { ending in
            if ending == nil {
                var status: Int32 = 0
                if waitpid(processID, &status, WNOHANG) == processID {
                    ending = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
                }
            }
            return ending
        }
    }

    func send(_ signal: Int32) {
        // Only while the process is known to be this one: the number of a reaped process may be reused.
        if exitStatus == nil { kill(processID, signal) }
    }

    /// Waits for the end on the calling thread.
    /// - Returns: The status; `nil` when `limit` passed.
    func waitForExit(within limit: Duration) -> Int32? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let status = exitStatus { return status }
            if ContinuousClock.now >= deadline { return nil }
            usleep(5_000)
        }
    }
}
