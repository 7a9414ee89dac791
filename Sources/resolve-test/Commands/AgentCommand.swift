// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
#if NIO && YAML
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSControl
internal import HTTPDNSCore
internal import HTTPDNSNIO
internal import HTTPDNSPrimitives
internal import Logging
#endif

/// `agent`: one resolver for the programs of a machine.
struct AgentCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Serve names to the programs of this machine.",
        usage: "resolve-test agent [<options>]",
        discussion: """
            Opens the listeners in the section agent of the configuration file: the sockets that libnss-resolve and systemd-resolved ask, a \
            name server, and a proxy on 127.0.0.1. Decides only about names with a mapping or a route to providers; all others go on to DNS, and \
            so does every name while the kill switch is off. Reads the file again when it changes. Asks its own socket each \
            second, and ends when there is no reply. SIGTERM and Ctrl-C end it. Needs the package traits NIO and YAML.
            """
    )

    @Option(
        "--config",
        "FILE",
        "Configuration file; without it the one that HTTPDNS_CONFIG names.",
        completion: .file()
    )
    var configurationFile: String?
    /// The process that asks whether this one still works.
    @Option(name: .customLong("watched-by"), help: .hidden) var watcher: Int32?
    @OptionGroup var output: OutputOptions

    #if NIO && YAML
    func perform(on console: Console) async throws -> Int32 {
        guard let file = configurationFile ?? console.environment["HTTPDNS_CONFIG"].flatMap({ $0.isEmpty ? nil : $0 })
        else { throw CommandFailure.usage("no configuration file is given", hint: "give --config FILE") }
        let settings = try HTTPDNSConfigurationFile.agent(file)
        guard settings.varlink != nil || settings.hook != nil || settings.proxy != nil || settings.dns != nil else {
            throw CommandFailure.usage(
                "\(file) opens no listener: it has none of agent.varlink, agent.hook, agent.dns and agent.proxy",
                hint: "such as agent: { varlink: /run/systemd/resolve/io.systemd.Resolve }"
            )
        }
        let notification = ServiceNotification(console.environment)
        if let socket = settings.varlink, watcher == nil, notification == nil {
            return try await watch(file, socket, console)
        }
        try await serve(file, settings, notification, console)
        return ExitStatus.done
    }

    // MARK: the agent

    private func serve(
        _ file: String,
        _ settings: AgentSettings,
        _ notification: ServiceNotification?,
        _ console: Console
    ) async throws {
        var configuration = try HTTPDNSConfigurationFile.read(file)
        let system = try AgentSystemResolver(settings.dns, threads: configuration.resolver.systemThreads)
        configuration.systemResolver = system
        // To the journal.
        let logger = Logger.standardError("agent", output.isVerbose ? .info : .notice)
        configuration.logger = logger
        if settings.varlink != nil || settings.hook != nil || settings.dns != nil {
            let note = "lookups have no port: only the proxy applies the mapping of"
            console.note(configuration.resolver.mappings.withPorts.map { "\(note) \($0)" }, unless: output.isJSON)
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        system.serve(client.resolver)
        let report = AgentReport(output: output, console: console)
        let listeners = AgentListeners()
        do {
            try await listeners.open(settings, client, logger, report)
            report.tell("ready", "")
            notification?.send("READY=1")
            if let notification, notification.isWatched {
                let isHung = await withTaskCancellationHandler {
                    await AgentWatchdog.watch(settings.varlink, while: { !listeners.isEnding }) {
                        notification.send("WATCHDOG=1")
                    }
                } onCancel: {
                    listeners.beginEnding()
                }
                if isHung { throw AgentCommand.hung(settings.varlink ?? "") }
            } else {
                while true { try await Task.sleep(for: .seconds(3600)) }
            }
        } catch {
            await listeners.close()
            try? await client.shutdown()
            guard error is CancellationError else { throw error }
            return
        }
        await listeners.close()
        try await client.shutdown()
    }

    // MARK: its parent

    /// Runs the agent as a child, and kills it when it does not reply.
    private func watch(_ file: String, _ socket: String, _ console: Console) async throws -> Int32 {
        let arguments =
            ["/proc/self/exe", "agent", "--watched-by", "\(getpid())", "--config", file]
            + (output.isJSON ? ["--json"] : []) + (output.isVerbose ? ["-v"] : [])
        let child = try await ChildProcess.start(arguments, environment: console.environment)
        return try await withTaskCancellationHandler {
            async let isHung = AgentCommand.kill(child, ifHungOn: socket)
            let end = await child.end()
            if await isHung { throw AgentCommand.hung(socket) }
            switch end {
            case .exited(let status): return status
            case .signal(let number):
                throw CommandFailure.failed(code: "agent-ended", "signal \(number) ended the agent")
            }
        } onCancel: {
            child.terminate()
        }
    }

    private static func kill(_ child: ChildProcess, ifHungOn socket: String) async -> Bool {
        // It reads its file first, from a file system that may be slow.
        let begun = ContinuousClock.now
        while !child.isEnding, AgentWatchdog.ask(socket) == .closed,
            ContinuousClock.now - begun < AgentWatchdog.startLimit
        {
            try? await Task.sleep(for: .milliseconds(100))
        }
        let isHung = await AgentWatchdog.watch(socket, while: { !child.isEnding })
        if isHung { child.send(SIGKILL) }
        return isHung
    }

    private static func hung(_ socket: String) -> CommandFailure {
        .failed(
            code: "agent-hung",
            "the agent did not reply on \(socket) within a second, and was ended",
            hint: "its names go to DNS until it is started again"
        )
    }
    #else
    func perform(on console: Console) async throws -> Int32 {
        throw CommandFailure.withoutTrait("NIO", neededBy: "agent")
    }
    #endif
}

#if NIO && YAML
/// The open listeners of an agent.
private final class AgentListeners: Sendable {
    private struct State: Sendable {
        /// Of libnss-resolve and of systemd-resolved.
        var varlink: [VarlinkListener] = []
        var dns: NameServerListener?
        var proxy: HTTPDNSProxy?
        var control: HTTPDNSControlSocket?
        var isEnding = false
    }

    private let state = Lock(State())

    var isEnding: Bool { state.withLock { $0.isEnding } }

    func beginEnding() { state.withLock { $0.isEnding = true } }

    func open(
        _ settings: AgentSettings,
        _ client: HTTPDNSClient,
        _ logger: Logger,
        _ report: AgentReport
    ) async throws {
        if let path = settings.control {
            do throws(HTTPDNSControlSocketError) {
                let control = try HTTPDNSControlSocket(client: client, path: path)
                state.withLock { $0.control = control }
            } catch {
                throw CommandFailure(kind: .usage, code: "\(error.code)", message: error.message, hint: error.hint)
            }
            report.tell("listening", "control \(path)", ["listener": .text("control"), "path": .text(path)])
        }
        if let settings = settings.proxy, let password = settings.password {
            let listener = try HTTPDNSProxy.Listener(
                port: UInt16(settings.port),
                password: try await password.current()
            )
            var configuration = HTTPDNSProxy.Configuration()
            configuration.drainDeadline = settings.drainDeadline
            configuration.guardedBesides = settings.allowed
            configuration.logger = logger
            let proxy = try await HTTPDNSProxy(client, on: listener, configuration: configuration)
            state.withLock { $0.proxy = proxy }
            let place = "\(listener.host):\(listener.port)"
            report.tell("listening", "proxy \(place)", ["listener": .text("proxy"), "address": .text(place)])
        }
        if let dns = settings.dns {
            for endpoint in try await openNameServer(dns, settings.timeLimit, client.resolver) {
                report.tell(
                    "listening",
                    "dns \(endpoint)",
                    ["listener": .text("dns"), "address": .text("\(endpoint)")]
                )
            }
        }
        for (kind, path) in [("hook", settings.hook), ("varlink", settings.varlink)] {
            guard let path else { continue }
            var configuration = VarlinkListener.Configuration(path: path)
            configuration.timeLimit = settings.timeLimit
            configuration.servesFallback = true
            do {
                let varlink = try await VarlinkListener(client.resolver, configuration)
                state.withLock { $0.varlink.append(varlink) }
            } catch let error as SocketFileError {
                throw CommandFailure(kind: .usage, code: error.code.rawValue, message: error.message, hint: error.hint)
            }
            report.tell("listening", "\(kind) \(path)", ["listener": .text(kind), "path": .text(path)])
        }
    }

    private func openNameServer(
        _ settings: AgentSettings.NameServer,
        _ timeLimit: Duration,
        _ resolver: HTTPDNSResolver
    ) async throws -> [HTTPDNSEndpoint] {
        if case .addresses(let servers)? = settings.forward, let own = servers.first(where: settings.listen.contains) {
            throw CommandFailure.usage(
                "agent.dns.forward names \(own), on which the agent itself listens",
                hint: "name the servers that know other names"
            )
        }
        var configuration = NameServerListener.Configuration(settings.listen)
        configuration.forward = try settings.forward.map { servers in
            var forward = HTTPDNSDNSProvider.Configuration(name: "forward", servers: servers)
            forward.excluded = settings.listen
            return try HTTPDNSDNSProvider(forward)
        }
        configuration.allowed = settings.allowed
        configuration.timeLimit = timeLimit
        configuration.servesFallback = true
        do {
            let dns = try await NameServerListener(resolver, configuration)
            state.withLock { $0.dns = dns }
            return dns.endpoints
        } catch let error as NameServerListener.Failure {
            throw CommandFailure.failed(
                code: "system-error",
                "the name server cannot listen on \(error.endpoint): \(error.message)",
                hint: error.endpoint.port < 1024
                    ? "ports below 1024 need root or CAP_NET_BIND_SERVICE; another server may have the port"
                    : "another server may have the port"
            )
        }
    }

    func close() async {
        let open = state.withLock { state in
            defer { (state.varlink, state.dns, state.proxy, state.control) = ([], nil, nil, nil) }
            return state
        }
        // First of all, so that names go on to DNS.
        for varlink in open.varlink { await varlink.shutdown() }
        await open.dns?.shutdown()
        await open.proxy?.shutdown()
        await open.control?.shutdown()
    }
}

/// The output of `agent`: a line, or with `--json` an object, for each event.
private struct AgentReport: Sendable {
    var output: OutputOptions
    var console: Console

    func tell(_ event: String, _ text: String, _ members: [String: JSONValue] = [:]) {
        let object = JSONValue.object(members.merging(["event": .text(event)]) { $1 })
        let line = output.isJSON ? object.oneLine : PrintableText.line(text.isEmpty ? event : "\(event)  \(text)")
        try? console.standardOutput.write(line + "\n")
    }
}
#endif
#endif
