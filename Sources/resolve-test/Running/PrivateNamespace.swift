// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import CHTTPDNSProcess
internal import Foundation

/// The steps between the start of this program by `run` and the start of the command: a mount namespace of its own, in which the
/// library that looks names up finds the files of a folder. The machine's files stay as they are, and so do other processes.
///
/// It runs on the only thread, before anything else of the program: the kernel gives a user namespace to a process with one thread
/// alone (unshare(2)).
struct PrivateNamespace {
    /// The first argument of a program that is to enter one; its folder, the parent's number and the command follow.
    static let word = "--enter-namespace"
    /// The folder of a program that is to become the command without a namespace.
    static let noFolder = "-"

    /// The files of the folder.
    enum File: String {
        /// The socket for libnss-resolve.
        case socket
        case hosts
        case switchConfiguration = "nsswitch.conf"
        /// The step that the machine refused, on a line.
        case refusal

        func path(in folder: String) -> String { "\(folder)/\(rawValue)" }
    }

    /// A step that the machine refused.
    struct Refusal: Error {
        var step: String
        var error: Int32
    }

    private let folder: String

    /// Enters a namespace and becomes the command, if the arguments of the program say so.
    static func enterIfAsked() {
        guard CommandLine.argc > 4, let word = CommandLine.unsafeArgv[1], String(cString: word) == Self.word,
            let folder = CommandLine.unsafeArgv[2], let parent = CommandLine.unsafeArgv[3],
            let program = CommandLine.unsafeArgv[4]
        else { return }
        if String(cString: folder) != noFolder { PrivateNamespace(folder: String(cString: folder)).enterOrExit() }
        // After the change of credentials, which would clear it.
        if let parent = Int32(String(cString: parent)) { ParentProcess.endsThisOne(parent) }
        execvp(program, CommandLine.unsafeArgv + 4)
        // As shells have it.
        let (status, reason): (Int32, String) = (errno == ENOENT ? 127 : 126, String(cString: strerror(errno)))
        let name = PrintableText.line(String(cString: program))
        StandardStream(descriptor: STDERR_FILENO).say("resolve-test: \(name): \(reason)\n")
        exit(status)
    }

    private func enterOrExit() {
        // Its path may lead elsewhere after some of the steps.
        let open = open(folder, chttpdns_path_only | O_DIRECTORY | O_CLOEXEC)
        do throws(Refusal) {
            try enter()
            close(open)
        } catch {
            let text = Array("\(error.step): \(String(cString: strerror(error.error)))".utf8)
            let file = openat(open, File.refusal.rawValue, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if Glibc.write(file, text, text.count) != text.count {
                StandardStream(descriptor: STDERR_FILENO).say("resolve-test: \(error.step) failed\n")
            }
            exit(ExitStatus.failed)
        }
    }

    private func enter() throws(Refusal) {
        try unshare()
        // What the command mounts stays in its namespace, and what the machine mounts appears in it.
        try mount(nil, "/", flags: chttpdns_recursive | chttpdns_slave, "mark the mounts of the namespace as its own")
        let socket = open(File.socket.path(in: folder), chttpdns_path_only | O_CLOEXEC)
        guard socket >= 0 else { throw Refusal(step: "open the socket of the agent", error: errno) }
        try placeSocket("/proc/self/fd/\(socket)")
        close(socket)
        for (file, place) in [(File.switchConfiguration, "/etc/nsswitch.conf"), (.hosts, "/etc/hosts")] {
            try bind(file.path(in: folder), over: place)
        }
        // nscd answers from outside of the namespace.
        for place in ["/run/nscd", "/var/run/nscd"] where isFolder(place) {
            try mount("none", place, type: "tmpfs", "hide nscd")
            break
        }
    }

    private func unshare() throws(Refusal) {
        // With the right to mount, a namespace of mounts alone: programs that change their user go on to work.
        if chttpdns_unshare(chttpdns_new_mounts) == 0 { return }
        guard errno == EPERM else { throw Refusal(step: "make a mount namespace", error: errno) }
        let (user, group) = (geteuid(), getegid())
        guard chttpdns_unshare(chttpdns_new_mounts | chttpdns_new_user) == 0 else {
            throw Refusal(step: "make a user namespace", error: errno)
        }
        // Each to itself and not to root: the command keeps its user, and has no capability to undo the mounts.
        try write("deny", to: "/proc/self/setgroups")
        try write("\(user) \(user) 1", to: "/proc/self/uid_map")
        try write("\(group) \(group) 1", to: "/proc/self/gid_map")
    }

    /// Puts the socket where libnss-resolve looks for it. Nothing else disappears: without a socket there, a file system in memory
    /// covers the closest folder, with all of its entries bound back.
    private func placeSocket(_ source: String) throws(Refusal) {
        let folders = ["/run", "/run/systemd", "/run/systemd/resolve"]
        let place = "/run/systemd/resolve/io.systemd.Resolve"
        if access(place, F_OK) != 0, let cover = folders.last(where: isFolder) {
            let before = open(cover, chttpdns_path_only | O_DIRECTORY | O_CLOEXEC)
            guard before >= 0 else { throw Refusal(step: "open \(cover)", error: errno) }
            defer { close(before) }
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: cover)) ?? []
            let mode = try? FileManager.default.attributesOfItem(atPath: cover)[.posixPermissions] as? NSNumber
            try mount("none", cover, type: "tmpfs", "mount a file system on \(cover)")
            chmod(cover, mode?.uint32Value ?? 0o755)
            for entry in entries { try bindBack(entry, of: "/proc/self/fd/\(before)", in: cover) }
            for folder in folders where !isFolder(folder) { mkdir(folder, 0o755) }
            close(open(place, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666))
        }
        try mount(source, place, flags: chttpdns_bind, "bind the socket of the agent")
    }

    private func bindBack(_ entry: String, of source: String, in folder: String) throws(Refusal) {
        let (old, new) = ("\(source)/\(entry)", "\(folder)/\(entry)")
        switch try? FileManager.default.attributesOfItem(atPath: old)[.type] as? FileAttributeType {
        case nil: return
        case .typeSymbolicLink?:
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: old) else { return }
            symlink(target, new)
            return
        case .typeDirectory?: mkdir(new, 0o755)
        default: close(open(new, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        }
        try mount(old, new, flags: chttpdns_bind | chttpdns_recursive, "bind \(new)")
    }

    /// Binds a file over another one, or over the one that it links to.
    private func bind(_ source: String, over place: String) throws(Refusal) {
        guard let resolved = realpath(place, nil) else { throw Refusal(step: "find \(place)", error: errno) }
        defer { free(resolved) }
        try mount(source, String(cString: resolved), flags: chttpdns_bind, "bind \(place)")
    }

    private func mount(
        _ source: String?,
        _ target: String,
        type: String? = nil,
        flags: UInt = 0,
        _ step: String
    ) throws(Refusal) {
        guard chttpdns_mount(source, target, type, flags) == 0 else { throw Refusal(step: step, error: errno) }
    }

    private func write(_ text: String, to path: String) throws(Refusal) {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        let count = text.utf8.count
        let isWritten = file >= 0 && Glibc.write(file, text, count) == count
        let error = errno
        if file >= 0 { close(file) }
        if !isWritten { throw Refusal(step: "write \(path)", error: error) }
    }

    private func isFolder(_ path: String) -> Bool {
        var isFolder = ObjCBool(false)
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}

/// The process that started this one.
enum ParentProcess {
    /// Lets a watched agent end with its parent: the next one could not take its socket.
    static func endsWatchedAgent() {
        let arguments = CommandLine.arguments
        if let index = arguments.firstIndex(of: "--watched-by"), index + 1 < arguments.count, arguments[1] == "agent" {
            endsThisOne(Int32(arguments[index + 1]) ?? 0)
        }
    }

    /// Ends this process when its parent ends (PR_SET_PDEATHSIG), also if that has ended already. On the main thread: the signal's
    /// request ends with the thread that makes it.
    /// - Parameter parent: The parent's number; 0 when its end does not matter.
    static func endsThisOne(_ parent: Int32) {
        guard parent != 0 else { return }
        _ = chttpdns_set_parent_death_signal(SIGTERM)
        if getppid() != parent { exit(ExitStatus.failed) }
    }
}
#endif
