// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// `dump [HOST...]`: the state of a running service, its providers, and its kill switch.
struct DumpCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Print cache, mappings, routes, providers, limits and switch of a running service.",
        usage: "resolve-test dump [<options>] [<HOST> ...]",
        discussion: "Asks the service through its control socket. Sends no other query, and changes nothing."
    )

    @Argument(
        help: ArgumentHelp(
            "Print only the entries for these names; '*.SUFFIX' stands for all names below it.",
            valueName: "HOST"
        )
    )
    var hosts: [String] = []

    @Option("--limit", "N", "Maximum number of entries of each kind, 0 to 2000.")
    var limit: Int = ControlRequest.Selection.defaultLimit

    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        guard (0...ControlRequest.Selection.maximumLimit).contains(limit) else {
            throw CommandFailure.usage(
                "--limit \(limit) is out of range; allowed: 0 to \(ControlRequest.Selection.maximumLimit)"
            )
        }
        let names = try ServiceNames.patterns(hosts)
        let request = ControlRequest(.dump(.init(limit: limit, names: names)))
        let reply = try await socket.call(console.environment).ask(request)
        guard let diagnostics = reply.diagnostics else { throw CommandFailure.incomplete }
        let report = DumpReport(diagnostics: diagnostics)
        try console.write(output, json: report.json(), text: report.text)
        return ExitStatus.done
    }
}

/// The names on the command line, in the form for a service.
enum ServiceNames {
    /// - Returns: Nil for none, which means all.
    static func patterns(_ texts: [String]) throws(CommandFailure) -> [HTTPDNSRoute.Pattern]? {
        guard !texts.isEmpty else { return nil }
        return try texts.map { text throws(CommandFailure) in
            do {
                return try HTTPDNSRoute.Pattern(text)
            } catch {
                throw .usage("\(error)", hint: "give names, or suffixes such as '*.shop.example'")
            }
        }
    }
}

extension CommandFailure {
    /// The failure for a reply without the requested content.
    static var incomplete: CommandFailure {
        .failed(
            code: "not-understood",
            "the service's reply does not have the requested part",
            hint: "use the resolve-test of the service's release"
        )
    }
}
#endif
