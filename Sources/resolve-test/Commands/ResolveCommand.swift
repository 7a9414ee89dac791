// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import HTTPDNS

/// `resolve HOST...`: addresses, source, remaining lifetime.
struct ResolveCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Print addresses, source and time left of names.",
        discussion: """
            HOST is a name or an address; HOST:PORT selects the mapping of a port (443 if left out). With --json, prints one \
            line of JSON for each host. Exits with 1 when a host has no address.
            """
    )

    @Argument(help: ArgumentHelp("Names or addresses.", valueName: "HOST"))
    var hosts: [String]

    @OptionGroup
    var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        // All arguments are parsed before the first lookup: a typing error sends nothing.
        let questions = try hosts.map { text throws(CommandFailure) in try HostArgument(text) }
        let settings = try ClientSettings(common, environment: console.environment)
        let options = settings.requestOptions(common)
        let rows = try await settings.withClient { client in
            try await Self.rows(questions, client: client, options: options)
        }

        let report = ResolveReport(
            rows: rows.map { row in
                var row = row
                row.outcome = row.outcome.mapError(settings.advised)
                return row
            },
            providerKinds: settings.providerKinds
        )
        console.note(settings.remarks(on: rows.compactMap { try? $0.outcome.get() }), unless: common.output.isJSON)
        try console.standardOutput.write(common.output.isJSON ? report.json() : report.text())
        if let failure = report.failure { throw failure }
        return ExitStatus.done
    }

    /// Resolves many names concurrently, so that it takes about as long as the slowest name. More would not fit into the system
    /// resolver's queue. The order is that of the arguments.
    private static func rows(
        _ questions: [HostArgument],
        client: HTTPDNSClient,
        options: HTTPDNSClient.Request.Options
    ) async throws -> [ResolveReport.Row] {
        try await ConcurrentWork.map(questions, atMost: 64) { question in
            try await row(question, client: client, options: options)
        }
    }

    private static func row(
        _ question: HostArgument,
        client: HTTPDNSClient,
        options: HTTPDNSClient.Request.Options
    ) async throws -> ResolveReport.Row {
        var outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>
        do {
            outcome = .success(
                try await client.resolve(question.host.description, port: question.port, options: options)
            )
        } catch let error as CancellationError {
            throw error
        } catch {
            outcome = .failure(CommandFailure(error))
        }
        return ResolveReport.Row(
            text: question.text,
            host: question.host.description,
            port: question.port,
            outcome: outcome
        )
    }
}
