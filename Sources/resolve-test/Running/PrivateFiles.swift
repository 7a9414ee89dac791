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
        let parents = (given.hasPrefix("/") && given.utf8.count < 60 ? [given] : []) + ["/tmp"]
        for parent in parents {
            var template = Array("\(parent)/httpdns-run-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { continue }
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return
        }
        throw .failed(
            code: "no-folder",
            "no folder in \(parents.joined(separator: " and ")): \(SystemError.text(errno))"
        )
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

    private var hasRoutes: Bool { resolver.settingsInUse.routes.contains { $0.action != .system } }

    /// The reason why no name is decided by the resolver; nil when some are.
    var reasonForDNS: String? {
        if !resolver.killSwitch.isOn { return "resolving is switched off (enabled: false)" }
        return hasRoutes || !resolver.mappings.current.rules.isEmpty
            ? nil : "there is no mapping and no route to providers (see --map, --config)"
    }

    /// Whether it has all names that the resolver decides about.
    var hasAll: Bool {
        !hasRoutes
            && resolver.mappings.current.rules.keys.allSatisfy { key in
                guard case .exact(let name) = key.pattern, key.port == nil else { return false }
                return addresses(of: name) != nil
            }
    }

    /// Writes the file again after each change, until the task or the resolver ends.
    func follow() async {
        for await event in resolver.events where [.reloaded, .switchedOn, .switchedOff].contains(event.kind) {
            try? write()
        }
    }

    /// Writes in place: the file is bound into the namespace of the command.
    private func write() throws {
        let names = Set(
            resolver.mappings.current.rules.keys.compactMap { key -> HTTPDNSName? in
                guard case .exact(let name) = key.pattern, isDecided(name) else { return nil }
                return name
            }
        )
        let entries = names.sorted().map { ($0.description, addresses(of: $0) ?? []) }
        let text = Self.text(machine: machine, entries)
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(text.utf8))
        try file.truncate(atOffset: UInt64(text.utf8.count))
    }

    private func isDecided(_ name: HTTPDNSName) -> Bool {
        resolver.decidesAlone(.init(.name(name), port: 0), allowingFallback: true)
    }

    /// Returns the addresses of a name's mapping that the policy allows; nil for what a hosts file cannot express.
    private func addresses(of name: HTTPDNSName) -> [HTTPDNSAddress]? {
        guard case .addresses(let targets)? = resolver.mappings.current.rule(for: name, port: 0)?.mapping.action,
            targets.allSatisfy({ $0.port == nil && $0.weight == nil })
        else { return nil }
        return (try? resolver.cached(.init(.name(name), port: 0)))?.endpoints.map(\.address) ?? []
    }

    /// Returns the lines of a hosts file (hosts(5)), with the names that are decided here and their addresses.
    static func text(machine: String, _ entries: [(name: String, addresses: [HTTPDNSAddress])]) -> String {
        var lines = entries.flatMap { entry in entry.addresses.map { "\($0) \(entry.name)" } }
        let names = Set(entries.map(\.name))
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
}
#endif
