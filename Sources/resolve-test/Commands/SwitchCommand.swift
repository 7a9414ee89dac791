// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// `switch on|off`: the kill switch of a running service.
struct SwitchCommand: Subcommand {
    enum State: String, ExpressibleByArgument, CaseIterable, Sendable { case on, off }

    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Turn the kill switch of a running service.",
        usage: "resolve-test switch [<options>] <on|off>",
        discussion: """
            off: from the next request on, every name (with --route the names of one route) is resolved by the system \
            resolver, without mappings, providers and their cached answers. on: undoes an off of the socket or of the program \
            itself. An off of the configuration file or the environment stays, and the exit status is 1. A pattern that no \
            route has is an error. Routes with a more specific pattern stay on, and are listed.
            """
    )

    @Argument(help: ArgumentHelp("The state to set.", valueName: "on|off")) var state: State
    @Option("--route", "PATTERN", "Turn only the names of the route with this pattern.") var route: String?

    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        let pattern = try ServiceNames.patterns(route.map { [$0] } ?? [])?.first
        let call = try socket.call(console.environment)
        let reply = try await call.ask(ControlRequest(.turn(isOn: state == .on, route: pattern)))
        guard let result = reply.killSwitch else { throw CommandFailure.incomplete }
        let staysOn = reply.staysOn ?? []
        try console.write(output, json: SwitchReport.json(result, staysOn: staysOn).oneLine + "\n") { screen in
            FoldedText.text(SwitchReport.text(result, staysOn: staysOn), width: screen.width)
        }
        guard state == .on, let entry = result.entries.first(where: { $0.route == pattern?.description }) else {
            return ExitStatus.done
        }
        throw CommandFailure.failed(
            code: "still-off",
            "\(pattern?.description ?? "everything") is still turned off by \(SwitchReport.place(of: entry.origin))",
            hint: "switch on undoes only an off of the socket or of the program; change it there"
        )
    }
}

/// A text form of the kill switch.
enum SwitchReport {
    /// - Parameter staysOn: The routes with a more specific pattern than the one that was turned off.
    static func text(_ killSwitch: HTTPDNSClient.Status.Switch, staysOn: [String] = []) -> String {
        guard !killSwitch.entries.isEmpty else { return "switch  ON\n" }
        let lines = killSwitch.entries.map { entry in
            "\(PrintableText.line(entry.route ?? "everything")) off for \(Figures.lifetime(.seconds(entry.seconds))), "
                + "by \(entry.origin)"
        }
        return "switch  \(killSwitch.isOn ? "ON, but for routes" : "OFF")\n" + lines.map { "  \($0)\n" }.joined()
            + staysOn.map { "  \(PrintableText.line($0)) stays on: its route is more specific\n" }.joined()
    }

    /// Returns `ON`, `OFF (socket, 4 s)`, `ON but *.shop.test (file, 2 min)`.
    static func word(_ killSwitch: HTTPDNSClient.Status.Switch) -> String {
        guard let first = killSwitch.entries.first else { return "ON" }
        let who = "\(first.origin), \(Figures.lifetime(.seconds(first.seconds)))"
        let more = killSwitch.entries.count > 1 ? " +\(killSwitch.entries.count - 1)" : ""
        return killSwitch.isOn ? "ON but \(first.route ?? "-") (\(who))\(more)" : "OFF (\(who))\(more)"
    }

    static func json(_ killSwitch: HTTPDNSClient.Status.Switch, staysOn: [String] = []) -> JSONValue {
        .object([
            "isOn": .bool(killSwitch.isOn),
            "entries": .array(
                killSwitch.entries.map { entry in
                    .object([
                        "route": .optional(entry.route), "origin": .text(entry.origin),
                        "seconds": .seconds(.seconds(entry.seconds)),
                    ])
                }
            ),
            "generation": .integer(Int(clamping: killSwitch.generation)),
            "staysOn": .array(staysOn.map(JSONValue.text)),
        ])
    }

    static func place(of origin: String) -> String {
        switch origin {
        case "file": "the configuration file"
        case "environment": "the environment variable HTTPDNS_DISABLED"
        default: origin
        }
    }
}
#endif
