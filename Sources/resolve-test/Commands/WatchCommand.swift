internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSControl

/// `watch HOST...`: a live table of names, or a line for each event.
struct WatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch names live: addresses, time left, staleness, changes, providers.",
        discussion: """
            Asks about each name at an interval, out of the cache as a service would, and follows what the resolver does \
            meanwhile. On a terminal a table that redraws itself: q quits, r asks everything anew, d shows details. \
            Elsewhere one line for each event, with --json one object. Exit 1 when a host has no address at the end. With \
            --socket it asks nobody itself and shows what a running service knows: all names, or those given.
            """
    )

    @Argument(help: ArgumentHelp("Names or addresses.", valueName: "HOST"))
    var hosts: [String] = []

    @Option(
        name: .customLong("interval"),
        help: ArgumentHelp("Ask that often: 500ms, 1s, 1m (default: 1s).", valueName: "DURATION")
    )
    var intervalText = "1s"

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 30s, 5m.", valueName: "DURATION"))
    var durationText: String?

    @Option(
        name: .customLong("count"),
        help: ArgumentHelp("End after this many answers about each host.", valueName: "N")
    )
    var count: Int?

    @OptionGroup
    var socket: SocketOptions

    @OptionGroup
    var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        // Names without a socket mean a separate client, whatever the environment has.
        if socket.path(console.environment, usesEnvironment: hosts.isEmpty) != nil {
            return try await performOnService(console)
        }
        guard !hosts.isEmpty else {
            throw CommandFailure.usage(
                "Missing expected argument '<HOST> ...'",
                hint: "or --socket PATH, to watch a running service"
            )
        }
        let questions = try hosts.map { text throws(CommandFailure) in try HostArgument(text) }
        let interval = try Self.duration(intervalText, of: "--interval", in: .milliseconds(50)...(.seconds(3600)))
        let duration = try durationText.map { text throws(CommandFailure) in
            try Self.duration(text, of: "--for", in: .milliseconds(1)...(.seconds(86_400 * 30)))
        }
        if let count, count < 1 {
            throw CommandFailure.usage("--count \(count): it takes a number from 1 on", hint: "such as --count 10")
        }
        let settings = try ClientSettings(common, environment: console.environment)
        let options = settings.requestOptions(common)
        let model = try await settings.withClient { client in
            try await Watch(
                client: client,
                options: options,
                providerKinds: settings.providerKinds,
                interval: interval,
                ending: Watch.Ending(duration: duration, count: count),
                isJSON: common.output.isJSON,
                isVerbose: common.output.isVerbose,
                console: console
            ).run(questions)
        }
        console.note(settings.remarks(on: model.rows.compactMap(\.resolution)), unless: common.output.isJSON)
        if let failure = Self.report(model, settings).failure { throw failure }
        return ExitStatus.done
    }

    private func performOnService(_ console: Console) async throws -> Int32 {
        let range = ControlProtocol.watchInterval
        let interval = try Self.duration(
            intervalText,
            of: "--interval",
            in: .seconds(range.lowerBound)...(.seconds(range.upperBound))
        )
        let duration = try durationText.map { text throws(CommandFailure) in
            try Self.duration(text, of: "--for", in: .milliseconds(1)...(.seconds(86_400 * 30)))
        }
        if let count, count < 1 {
            throw CommandFailure.usage("--count \(count): it takes a number from 1 on", hint: "such as --count 10")
        }
        try await ServiceWatch(
            socket: socket,
            names: try ServiceNames.patterns(hosts),
            interval: interval,
            ending: Watch.Ending(duration: duration, count: count),
            isJSON: common.output.isJSON,
            isVerbose: common.output.isVerbose,
            console: console
        ).run()
        return ExitStatus.done
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
                        .failed(code: "timed-out", "\(row.question.text): the watching ended before an answer came")
                    )
                }
            return ResolveReport.Row(
                text: row.question.text,
                host: row.question.host.description,
                port: row.question.port,
                outcome: outcome
            )
        }
        return ResolveReport(rows: rows, providerKinds: settings.providerKinds)
    }

    private static func duration(
        _ text: String,
        of option: String,
        in range: ClosedRange<Duration>
    ) throws(CommandFailure) -> Duration {
        do {
            return try DurationText.parse(text, in: range)
        } catch {
            throw .usage("\(option) \(error.message)", hint: error.hint)
        }
    }
}
