// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// `watch HOST...`: a live table of names, or a line for each event.
struct WatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show a live table of names: time left, staleness, changes, providers.",
        discussion: """
            Resolves each name at an interval, with the cache as a service would, and shows the resolver's events. On a \
            terminal the table redraws itself: q quits, r clears the cache and asks again, d shows details. Elsewhere each \
            event is a line, with --json an object. Exits with 1 when a host has no address at the end. With --socket it \
            sends no queries, and shows the names of a running service: all of them, or the given ones.
            """
    )

    @Argument(help: ArgumentHelp("Names or addresses.", valueName: "HOST")) var hosts: [String] = []
    @Option("--interval", "DURATION", "Time between two queries for a name, such as 500ms, 1s or 1m.")
    var intervalText = "1s"
    @Option("--for", "DURATION", "End after this time, such as 30s or 5m.") var durationText: String?
    @Option("--count", "N", "End after this many answers for each host.") var count: Int?

    @OptionGroup var socket: SocketOptions
    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        // Names without a socket mean a separate client, whatever the environment has.
        let isServiceWatched = socket.path(console.environment, usesEnvironment: hosts.isEmpty) != nil
        guard isServiceWatched || !hosts.isEmpty else {
            throw CommandFailure.usage(
                "Missing expected argument '<HOST> ...'",
                hint: "or give --socket PATH to watch a running service"
            )
        }
        let interval = try interval(isServiceWatched: isServiceWatched)
        let ending = try ending()
        guard !isServiceWatched else {
            let source = try await WatchedService(
                socket: socket,
                environment: console.environment,
                names: try ServiceNames.patterns(hosts),
                interval: interval
            )
            _ = try await watch(source, ending, on: console).run(WatchModel())
            return ExitStatus.done
        }
        if socket.path(console.environment, usesEnvironment: true) != nil {
            let note = "HTTPDNS_SOCKET has no effect on names; --socket PATH watches them in the service"
            console.note([note], unless: common.output.isJSON)
        }
        let questions = try hosts.map { text throws(CommandFailure) in try HostArgument(text) }
        let settings = try ClientSettings(common, environment: console.environment)
        let change = settings.requestOptions(common)
        let model = try await settings.withClient { client in
            let source = WatchedResolver(client: client, change: change, questions: questions, interval: interval)
            return try await watch(source, ending, on: console)
                .run(WatchModel(questions, providerKinds: settings.providerKinds))
        }
        console.note(settings.remarks(on: model.rows.compactMap(\.resolution)), unless: common.output.isJSON)
        if let failure = Self.report(model, settings).failure { throw failure }
        return ExitStatus.done
    }

    private func watch(_ source: any WatchSource, _ ending: Watch.Ending, on console: Console) -> Watch {
        Watch(
            source: source,
            ending: ending,
            isJSON: common.output.isJSON,
            isVerbose: common.output.isVerbose,
            console: console
        )
    }

    private func interval(isServiceWatched: Bool) throws(CommandFailure) -> Duration {
        let service = ControlProtocol.watchInterval
        let range: ClosedRange<Duration> =
            isServiceWatched
            ? .seconds(service.lowerBound)...(.seconds(service.upperBound)) : .milliseconds(50)...(.seconds(3600))
        return try DurationArgument.duration(intervalText, of: "--interval", in: range)
    }

    private func ending() throws(CommandFailure) -> Watch.Ending {
        if let count, count < 1 {
            throw .usage("--count \(count) is out of range; allowed: 1 or more")
        }
        guard let durationText else { return Watch.Ending(count: count) }
        let range: ClosedRange<Duration> = .milliseconds(1)...(.seconds(86_400 * 30))
        return Watch.Ending(duration: try DurationArgument.duration(durationText, of: "--for", in: range), count: count)
    }

    /// Returns the report of `resolve` on the last answers.
    private static func report(_ model: WatchModel, _ settings: ClientSettings) -> ResolveReport {
        let rows = model.rows.map { row in
            let outcome: Result<HTTPDNSResolver.Resolution, CommandFailure> =
                switch row.state {
                case .resolved(let resolution): .success(resolution)
                case .failed(let failure): .failure(settings.advised(failure))
                case .asking:
                    .failure(
                        .failed(code: "timed-out", "\(row.question.text): the watch ended before an answer came")
                    )
                }
            return ResolveReport.Row(question: row.question, outcome: outcome)
        }
        return ResolveReport(rows: rows, providerKinds: settings.providerKinds)
    }
}
#endif
