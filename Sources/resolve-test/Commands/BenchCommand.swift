// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSCurl
internal import HTTPDNSResponseCache

/// `bench URL`: load on one URL, and the distribution of its latencies.
struct BenchCommand: Subcommand {
    /// The values of `--against`.
    enum Opponent: String, ExpressibleByArgument, CaseIterable, Sendable { case system }

    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Load one URL, and print rates, latencies and failures.",
        discussion: """
            Sends the same request again and again, each once: without retries and hedging. Follows no redirect, so that \
            only this host is loaded. Each response \
            makes the next request begin. With --rate requests begin at fixed times instead, and a latency counts from the \
            intended start: a stall is in the latency of each request that it delays. Ctrl-C ends the load and prints the \
            measurements. Every response counts, whatever its status; exits with 1 when a request had no response.
            """
    )

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "URL")) var url: String
    @Option("-c --concurrency", "N", "Maximum number of requests in flight, 1 to 1000.") var inFlight = 50
    @Option("-n --requests", "N", "Number of requests; without -n and -z the load takes 10s.") var requests: Int?
    @Option("-z --duration", "DURATION", "Time in which requests begin, such as 30s.") var durationText: String?
    @Option("--warm-up", "DURATION", "Time of the same load before, which does not count; 0s for none.")
    var warmUpText = "1s"
    @Option("--rate", "N", "Begin this many requests in a second (open loop).") var rate: Double?
    @Option(
        "--against",
        "system",
        "Repeat the load in turns with the system resolver's addresses, and print the ratio."
    )
    var opponent: Opponent?
    @Flag("--http1.1", "Use HTTP/1.1 only.") var usesHTTP1 = false

    @OptionGroup var requestOptions: RequestOptions
    @OptionGroup var common: CommonOptions

    /// The limits of the options: a load that a machine can make, and not an attack by a typing error.
    private static let inFlightRange = 1...1000
    private static let requestRange = 1...1_000_000_000
    private static let rateRange = 0.1...1_000_000
    private static let longest = Duration.seconds(86_400)
    private static let defaultDuration = Duration.seconds(10)
    private static let turns = 10

    func perform(on console: Console) async throws -> Int32 {
        let isJSON = common.output.isJSON
        let plan = try plan()
        let warmUp = try DurationArgument.duration(warmUpText, of: "--warm-up", in: .zero...Self.longest)
        // A connection may be on its way back when the next request begins.
        try OpenFileLimit.require(2 * plan.inFlight * (opponent == nil ? 1 : 2))
        let target = try URLArgument.parsed(url)
        var settings = try ClientSettings(common, environment: console.environment)
        var request = try requestOptions.request(url, common, &settings)
        request.changeOptions {
            $0.redirects = .off
            // Every request must reach the origin, and once.
            $0.mergesIdenticalReads = false
            $0.retries = .off
        }
        settings.configuration.connections.hedgeAfter = nil
        settings.configuration.responseCache = nil
        if usesHTTP1 { request.changeOptions { $0.versions = .http1Only } }
        console.note(settings.notes + [announcement(of: target, plan)], unless: isJSON)

        let screen = console.screen(for: console.standardOutput)
        var report = BenchReport(
            url: URLText.withoutUserInformation(url),
            host: target.hostText,
            port: target.port,
            plan: plan,
            warmUp: warmUp,
            client: .init(),
            providerKinds: settings.providerKinds,
            usesBlocks: console.standardOutput.isTerminal && screen.isUnicode
        )
        let isShown = !isJSON && console.movesCursor(on: console.standardError)
        let progress = LoadProgress()
        let display = isShown ? Task { await progress.show(on: console.standardError) } : nil
        do {
            defer { display?.cancel() }
            try await measure(&report, request, settings, progress)
        } catch is CancellationError {
            report.isInterrupted = true
        }
        await display?.value
        let total = report.client.total
        console.note(settings.remarks(on: [total.resolution].compactMap { $0 }), unless: isJSON)
        try console.write(common.output, json: report.json().indented + "\n", text: report.text)
        if let failure = failure(of: report) { throw failure }
        return ExitStatus.done
    }

    /// Puts the load on the host, with one client or with two in turns.
    /// - Throws: `CancellationError` after a signal; ``CommandFailure`` when there were only failures.
    private func measure(
        _ report: inout BenchReport,
        _ request: HTTPDNSClient.Request,
        _ settings: ClientSettings,
        _ progress: LoadProgress
    ) async throws {
        let (plan, warmUp) = (report.plan, report.warmUp)
        try await settings.withClient { client in
            let ours = LoadGenerator(client: client, request: request, progress: progress)
            if warmUp > .zero { report.client.warmUp = try await first(ours, plan.lasting(warmUp)) }
            guard opponent != nil else {
                report.client.slices = [try await first(ours, plan)]
                return
            }
            report.system = .init()
            try await settings.withoutSources.withClient { system in
                let theirs = LoadGenerator(client: system, request: request, progress: progress)
                if warmUp > .zero { report.system?.warmUp = try await first(theirs, plan.lasting(warmUp)) }
                for (index, slice) in plan.slices(Self.turns).enumerated() where !Task.isCancelled {
                    report.client.slices.append(try await index == 0 ? first(ours, slice) : ours.run(slice))
                    guard !Task.isCancelled else { return }
                    report.system?.slices.append(try await index == 0 ? first(theirs, slice) : theirs.run(slice))
                }
            }
        }
    }

    /// Runs the first part of a load.
    /// - Throws: The first failure, when there was no response.
    private func first(_ generator: LoadGenerator, _ plan: LoadPlan) async throws(CommandFailure) -> LoadRecording {
        let recording = await generator.run(plan)
        if recording.responses == 0, let failure = recording.firstFailure { throw failure }
        return recording
    }

    private func failure(of report: BenchReport) -> CommandFailure? {
        let sides = [report.client.total] + (report.system.map { [$0.total] } ?? [])
        let count = sides.reduce(0) { $0 + $1.failureCount }
        guard count > 0 else { return nil }
        return .failed(
            code: "requests-failed",
            "\(Figures.count(count)) of \(Figures.count(sides.reduce(0) { $0 + $1.requests })) requests had no response",
            hint: sides.compactMap(\.firstFailure).first.map { "the first: \($0.message)" },
            host: report.host
        )
    }
}

extension BenchCommand {
    private func plan() throws(CommandFailure) -> LoadPlan {
        guard Self.inFlightRange.contains(inFlight) else {
            throw .usage(
                "-c \(inFlight) is out of range; allowed: 1 to \(Self.inFlightRange.upperBound) requests in flight",
                hint: "for more load run several processes"
            )
        }
        if let requests, !Self.requestRange.contains(requests) {
            throw .usage("-n \(requests) is out of range; allowed: 1 to \(Figures.count(Self.requestRange.upperBound))")
        }
        if let rate, !Self.rateRange.contains(rate) {
            throw .usage("--rate is out of range; allowed: 0.1 to 1,000,000 requests in a second")
        }
        let duration = try durationText.map { text throws(CommandFailure) in
            try DurationArgument.duration(text, of: "-z", in: .milliseconds(1)...Self.longest)
        }
        return LoadPlan(
            inFlight: inFlight,
            rate: rate,
            requests: requests,
            duration: duration ?? (requests == nil ? Self.defaultDuration : nil)
        )
    }

    private func announcement(of target: ParsedURL, _ plan: LoadPlan) -> String {
        let end = plan.requests.map { "\(Figures.count($0)) requests" } ?? plan.duration.map(DurationText.write) ?? ""
        let each = opponent == nil ? "" : ", and the same with the system resolver"
        return
            "loading \(target.hostText):\(target.port) with at most \(plan.inFlight) requests in flight: \(end)\(each)"
    }
}

/// The limit of this process for open files and sockets (`ulimit -n`).
private enum OpenFileLimit {
    /// The files beside sockets of the load: standard streams, libraries, the runtime.
    private static let others = 64

    /// Raises the limit, if that is necessary, so that a load has its sockets: without free descriptors the runtime ends the
    /// process.
    /// - Throws: ``CommandFailure`` when the hard limit is lower.
    static func require(_ sockets: Int) throws(CommandFailure) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        let needed = rlim_t(sockets + others)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
        limit.rlim_cur = needed
        guard needed <= limit.rlim_max, setrlimit(resource, &limit) == 0 else {
            throw .usage(
                "this load may need \(needed) open files, and the limit of the process is \(limit.rlim_max)",
                hint: "lower -c, or raise the limit: ulimit -Hn"
            )
        }
    }
}

extension ClientSettings {
    /// The settings of a client that uses the system resolver alone.
    fileprivate var withoutSources: ClientSettings {
        var settings = self
        settings.configuration.resolver.mappings = [:]
        settings.configuration.resolver.routes = []
        settings.configuration.resolver.providers = []
        return settings
    }
}
#endif
