// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import Foundation
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A temporary folder that only this user may enter.
struct PrivateFolder: Sendable {
    let path: String

    /// - Throws: ``CommandFailure``.
    init() throws(CommandFailure) {
        let given = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        // A path of a Unix socket has 107 bytes at most.
        let parent = given.hasPrefix("/") && given.utf8.count < 60 ? given : "/tmp"
        var template = Array("\(parent)/httpdns-run-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .failed(code: "no-folder", "no folder in \(parent): \(SystemError.text(errno))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// The hosts file of a command: that of the machine, with those mappings that it can express. It follows the mappings.
struct PrivateHosts: Sendable {
    private let resolver: HTTPDNSResolver
    private let file: FileHandle
    private let machine: String

    init(_ resolver: HTTPDNSResolver, path: String) throws {
        self.resolver = resolver
        machine = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
        FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644])
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try write()
    }

    /// Whether it has all names that the resolver decides about.
    var hasAll: Bool {
        let settings = resolver.settingsInUse
        let hasRoutes = settings.routes.contains { $0.action != .system }
        return !hasRoutes && resolver.mappings.current.rules.allSatisfy { Self.addresses($0.key, $0.value) != nil }
    }

    /// Writes the file again after each change, until the task or the resolver ends.
    func follow() async {
        for await event in resolver.events where [.reloaded, .switchedOn, .switchedOff].contains(event.kind) {
            try? write()
        }
    }

    /// Writes in place: the file is bound into the namespace of the command.
    private func write() throws {
        let rules = resolver.killSwitch.isFullyOn ? resolver.mappings.current.rules : [:]
        let text = Self.text(machine: machine, rules)
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(text.utf8))
        try file.truncate(atOffset: UInt64(text.utf8.count))
    }

    /// Returns the lines of a hosts file (hosts(5)).
    static func text(machine: String, _ rules: [HTTPDNSMapping.Key: HTTPDNSMapping]) -> String {
        var lines: [String] = []
        var names: Set<String> = []
        for (key, mapping) in rules.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            guard case .exact(let name) = key.pattern else { continue }
            names.insert(name.description)
            for address in addresses(key, mapping) ?? [] { lines.append("\(address) \(name)") }
        }
        // A name of the machine's own lines would get their addresses too (`multi on` of host.conf(5)).
        for line in machine.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            let kept = words.dropFirst().filter { !names.contains($0.lowercased()) }
            if kept.count + 1 >= words.count {
                lines.append(String(line))
            } else if !kept.isEmpty {
                lines.append((words.prefix(1) + kept).joined(separator: " "))
            }
        }
        return lines.joined(separator: "\n") + (machine.hasSuffix("\n") ? "" : "\n")
    }

    /// Returns the addresses of a rule; nil for one that a hosts file cannot express.
    private static func addresses(_ key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping) -> [HTTPDNSAddress]? {
        guard case .exact = key.pattern, key.port == nil, case .addresses(let targets) = mapping.action,
            targets.allSatisfy({ $0.port == nil && $0.weight == nil })
        else { return nil }
        return targets.map(\.address)
    }
}

/// The configuration of the name service switch (nsswitch.conf(5)).
enum SwitchConfiguration {
    private static let services = "resolve [!UNAVAIL=return]"

    static func write(to path: String) throws {
        let machine = (try? String(contentsOfFile: "/etc/nsswitch.conf", encoding: .utf8)) ?? ""
        try Data(text(machine: machine).utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o644)
    }

    /// Returns the machine's configuration, with libnss-resolve before DNS.
    static func text(machine: String) -> String {
        var lines = machine.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let index = lines.lastIndex(where: { $0.drop { $0 == " " }.hasPrefix("hosts:") }) else {
            return machine + (machine.isEmpty || machine.hasSuffix("\n") ? "" : "\n") + "hosts: files \(services) dns\n"
        }
        var words = lines[index].split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        words.removeAll { $0 == services }
        if !words.contains("resolve") {
            words.insert(services, at: words.firstIndex(of: "dns") ?? words.endIndex)
        }
        lines[index] = words.joined(separator: " ")
        return lines.joined(separator: "\n")
    }

    /// Returns whether the loader finds libnss-resolve (ld.so(8)).
    static func hasLibrary(_ environment: [String: String]) -> Bool {
        let given = (environment["LD_LIBRARY_PATH"] ?? "").split(separator: ":").map(String.init)
        let machine = ["x86_64-linux-gnu", "aarch64-linux-gnu"].flatMap { ["/lib/\($0)", "/usr/lib/\($0)"] }
        return (given + machine + ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]).contains {
            access("\($0)/libnss_resolve.so.2", R_OK) == 0
        }
    }

    /// Returns the path of a program, as a shell finds it.
    static func program(_ name: String, _ environment: [String: String]) -> String? {
        if name.contains("/") { return name }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}

/// The signals of a program that runs a command: those of the terminal reach both, and others are passed on.
final class ForwardedSignals: Sendable {
    private struct State {
        var child: ChildProcess?
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Lock(State())

    init() {
        // The command decides what they mean.
        for number in [SIGINT, SIGQUIT] { signal(number, SIG_IGN) }
        for number in [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2] where !Interruption.ignoredAtStart.contains(number) {
            signal(number, SIG_IGN)
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [self] in self.state.withLock { $0.child }?.send(number) }
                source.resume()
                state.sources.append(source)
            }
        }
    }

    /// Passes signals on to a child until it ends.
    func forwarded(to child: ChildProcess) async -> ChildProcess.End {
        state.withLock { $0.child = child }
        return await child.end()
    }

    /// Ends this program by the signal that ended the command, without a second core file.
    static func end(by number: Int32) -> Never {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        kill(getpid(), number)
        exit(ExitStatus.signal(number))
    }
}
#endif
