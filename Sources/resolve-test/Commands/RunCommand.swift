// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
#if NIO && YAML
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSNIO
internal import HTTPDNSPrimitives
internal import Logging
#endif

/// `run -- COMMAND`: a command whose names are resolved here.
struct RunCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command whose names are resolved here: --resolve for every program.",
        usage: "resolve-test run [<options>] -- <COMMAND> [<arguments> ...]",
        discussion: """
            The command gets a mount namespace of its own, in which names with a mapping or a route to providers are answered \
            by this program; all others go on to DNS. Needs no root, and changes nothing on the machine. Programs that link \
            glibc follow it through libnss-resolve, where that is installed; all others, static ones too, follow mappings to \
            plain addresses through a hosts file of their own. Where the machine refuses a namespace, or libnss-resolve is \
            missing, the variables for proxies lead curl, git, wget, Go and Python's urllib here; Java, Node and clients \
            without proxy support do not follow them. It is no sandbox. Ends as the command ends. Needs the package traits \
            NIO and YAML.
            """
    )

    @OptionGroup var common: CommonOptions
    @Flag("--require-namespace", "Fail when the machine refuses a namespace, and do not use variables instead.")
    var requiresNamespace = false
    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command and its arguments, after --.", valueName: "COMMAND")
    )
    var command: [String] = []

    #if NIO && YAML
    func perform(on console: Console) async throws -> Int32 {
        guard !command.isEmpty else {
            throw CommandFailure.usage(
                "no command is given",
                hint: "such as: resolve-test run --map img.test=127.0.0.1 -- curl http://img.test/"
            )
        }
        // From here on they reach the command, and the folder is removed.
        let signals = ForwardedSignals()
        var settings = try ClientSettings(common, environment: console.environment)
        if common.output.isVerbose { settings.configuration.logger = .standardError("run", .trace) }
        let ported = settings.configuration.resolver.mappings.withPorts
        let end = try await settings.withClient { client in
            let folder = try PrivateFolder()
            defer { folder.remove() }
            return try await run(client, signals, folder.path, ported, console)
        }
        switch end {
        case .exited(let status): return status
        case .signal(let number): ForwardedSignals.end(by: number)
        }
    }

    private func run(
        _ client: HTTPDNSClient,
        _ signals: ForwardedSignals,
        _ folder: String,
        _ ported: [String],
        _ console: Console
    ) async throws -> ChildProcess.End {
        var configuration = VarlinkListener.Configuration(path: PrivateNamespace.File.socket.path(in: folder))
        // As long as libnss-resolve itself would wait for DNS: its caller has no other source for these names.
        configuration.timeLimit = .seconds(10)
        // The system resolver of this process is outside of the namespace, and does not ask it.
        configuration.servesFallback = true
        let varlink = try await VarlinkListener(client.resolver, configuration)
        let proxy = try await HTTPDNSProxy(client)
        let hosts = try PrivateHosts(client.resolver, path: PrivateNamespace.File.hosts.path(in: folder))
        try SwitchConfiguration.write(to: PrivateNamespace.File.switchConfiguration.path(in: folder))
        let following = Task { await hosts.follow() }
        defer { following.cancel() }

        var environment = console.environment
        console.note(notes(on: hosts, environment), unless: false)
        if let reason = reasonForVariables(hosts, ported, environment) {
            console.note([reason], unless: false)
            environment = environment.filter { !HTTPDNSProxy.Listener.variables.contains($0.key) }
            environment.merge(proxy.listener.environment) { $1 }
        }
        var end = try await start(in: folder, environment, signals)
        if let refusal = try? String(contentsOfFile: PrivateNamespace.File.refusal.path(in: folder), encoding: .utf8) {
            guard !requiresNamespace else {
                throw CommandFailure.failed(code: "no-namespace", "the machine refuses a namespace: \(refusal)")
            }
            let note =
                "the machine refuses a namespace (\(refusal)); the command gets the variables for proxies, which curl, git, "
                + "wget, Go and Python's urllib follow, and Java, Node and psql do not"
            console.note([note], unless: false)
            environment = environment.filter { !HTTPDNSProxy.Listener.variables.contains($0.key) }
            environment.merge(proxy.listener.environment) { $1 }
            end = try await start(in: PrivateNamespace.noFolder, environment, signals)
        }
        await varlink.shutdown()
        await proxy.shutdown()
        return end
    }

    /// Returns what keeps names from being resolved here, though nothing is refused.
    private func notes(on hosts: PrivateHosts, _ environment: [String: String]) -> [String] {
        var notes: [String] = []
        if let reason = hosts.reasonForDNS { notes.append("\(reason): all names go to DNS") }
        let given = HTTPDNSProxy.Listener.variables.filter { environment[$0]?.isEmpty == false }
        if !given.isEmpty {
            notes.append("\(given.joined(separator: ", ")) set: programs that follow proxies leave names to that one")
        }
        return notes
    }

    /// Returns the reason why the command needs the variables for proxies; nil without one.
    private func reasonForVariables(
        _ hosts: PrivateHosts,
        _ ported: [String],
        _ environment: [String: String]
    ) -> String? {
        let who = "known to programs that follow the variables for proxies, such as curl and git"
        if !ported.isEmpty {
            return "lookups have no port: the mapping of \(ported.joined(separator: ", ")) is \(who)"
        }
        guard !SwitchConfiguration.hasLibrary(environment), !hosts.hasAll else { return nil }
        return "libnss-resolve is not installed: names other than those of plain mappings are \(who)"
    }

    /// Runs the command to its end.
    private func start(
        in folder: String,
        _ environment: [String: String],
        _ signals: ForwardedSignals
    ) async throws -> ChildProcess.End {
        let arguments = ["/proc/self/exe", PrivateNamespace.word, folder, "\(getpid())"] + command
        return try await signals.forwarded(to: ChildProcess.start(arguments, environment: environment))
    }
    #else
    func perform(on console: Console) async throws -> Int32 {
        throw CommandFailure.withoutTrait("NIO", neededBy: "run")
    }
    #endif
}
#endif
