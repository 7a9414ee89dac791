// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSResponseCache
internal import HTTPDNSTrafficMonitor
internal import HTTPTypes

/// `fetch URL`: send the request, and show every phase.
struct FetchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Send a request, and print every phase.",
        discussion: """
            The report goes to standard error; with --json it is one object on standard output. Without -o the body is \
            discarded. Redirects are followed, and each is a hop of the report. Header fields with secrets are dropped when \
            the origin changes.
            """
    )

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "URL"))
    var url: String

    @OptionGroup
    var requestOptions: RequestOptions

    @Option(
        name: [.customShort("o"), .customLong("output")],
        parsing: .unconditional,
        help: ArgumentHelp("Write the response body to this file; - is standard output.", valueName: "FILE")
    )
    var outputFile: String?

    @Flag(
        name: [.customShort("i"), .customLong("include")],
        help: "Print status and header fields of the response on standard output."
    )
    var includesHead = false

    @Option(
        name: .customLong("max-redirects"),
        help: ArgumentHelp(
            "How many redirects are followed, 0 to 100; 20 or the file's limit if left out.",
            valueName: "NUMBER"
        )
    )
    var maximumRedirects: Int?

    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            "Folder of a response cache for this user; it is created when it is missing.",
            valueName: "FOLDER"
        )
    )
    var cacheFolder: String?

    @Option(
        name: .customLong("har"),
        help: ArgumentHelp(
            "Write the call with its hops and bodies to this HAR file, also when it fails.",
            valueName: "FILE"
        )
    )
    var archiveFile: String?

    @Option(
        name: .customLong("report"),
        help: ArgumentHelp("Write the same as a web page, which loads nothing else.", valueName: "FILE")
    )
    var reportFile: String?

    @Flag(name: .customLong("fail"), help: "Treat a status of 400 or more as a failure (exit 1), and discard its body.")
    var failsOnStatus = false

    @OptionGroup
    var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        let isJSON = common.output.isJSON
        guard !(isJSON && outputFile == "-") else {
            throw CommandFailure.usage(
                "--json and -o - both use standard output",
                hint: "write the body to a file with -o FILE"
            )
        }
        var settings = try ClientSettings(common, environment: console.environment)
        let request = try request(&settings)
        if let cacheFolder { settings.configuration.responseCache = try await openCache(cacheFolder) }
        let destination = try BodyDestination(path: outputFile, standardOutput: console.standardOutput)
        let files = try TrafficFiles(archivePath: archiveFile, reportPath: reportFile, body: destination)
        let monitor = files.isWanted || common.output.isVerbose ? try monitor() : nil
        console.note(settings.notes, unless: isJSON)
        let report: FetchReport
        do {
            report = try await settings.withClient { client in
                monitor?.start(on: client)
                return try await fetch(request, client: client, to: destination, settings: settings, console: console)
            }
        } catch {
            await writeAfterFailure(files, monitor, on: console)
            throw error
        }
        let failedHop = report.hops.last.flatMap { isFailure($0.status) ? $0 : nil }
        // An error page must not replace a good file.
        if failedHop == nil { try destination.finish() } else { destination.discard() }
        try await files.write(monitor?.records ?? [])
        console.note(settings.remarks(on: report.hops.map(\.rewrite.resolution)), unless: isJSON)
        if isJSON {
            try console.standardOutput.write(report.json().indented + "\n")
        } else {
            let screen = console.screen(for: console.standardError)
            console.standardError.say(text(report, settings: settings, screen: screen))
            if common.output.isVerbose, let monitor {
                console.standardError.say(TrafficText(screen).waterfall(monitor.records))
            }
        }
        if let failedHop { throw statusFailure(failedHop) }
        return ExitStatus.done
    }

    private func monitor() throws -> HTTPDNSClient.TrafficMonitor {
        var settings = HTTPDNSClient.TrafficMonitor.Settings()
        settings.requestBodyLimit = TrafficFiles.bodyLimit
        settings.responseBodyLimit = TrafficFiles.bodyLimit
        return try HTTPDNSClient.TrafficMonitor(settings)
    }

    /// Writes the files about a call that failed. Its own error is the one to report.
    private func writeAfterFailure(
        _ files: TrafficFiles,
        _ monitor: HTTPDNSClient.TrafficMonitor?,
        on console: Console
    ) async {
        do throws(CommandFailure) {
            try await files.write(monitor?.records ?? [])
        } catch {
            console.note([error.message], unless: common.output.isJSON)
        }
    }

    private func openCache(_ folder: String) async throws -> HTTPDNSClient.ResponseCache {
        var settings = HTTPDNSClient.ResponseCache.Settings()
        // One user runs this program.
        settings.mode = .private
        do {
            return try await .disk(folder, settings)
        } catch let error as HTTPDNSClient.ResponseCache.Error {
            throw CommandFailure.usage("--cache: \(error.message)")
        }
    }

    private func request(_ settings: inout ClientSettings) throws(CommandFailure) -> HTTPDNSClient.Request {
        var request = try requestOptions.request(url, common, &settings)
        if let maximumRedirects {
            guard (0...100).contains(maximumRedirects) else {
                throw .usage("--max-redirects \(maximumRedirects) is out of range; allowed: 0 to 100")
            }
            var policy = settings.configuration.redirects
            policy.limit = maximumRedirects
            request.options.redirects = policy
        }
        return request
    }

    private func fetch(
        _ request: HTTPDNSClient.Request,
        client: HTTPDNSClient,
        to destination: BodyDestination,
        settings: ClientSettings,
        console: Console
    ) async throws -> FetchReport {
        let start = ContinuousClock.now
        let response = try await client.execute(request)
        if includesHead, !common.output.isJSON {
            try console.standardOutput.write(HeadText.text(response))
        }
        let length = response.headerFields[.contentLength].flatMap { Int($0) }
        var progress = DownloadProgress(
            on: console.standardError,
            expected: length,
            isWanted: !common.output.isJSON && outputFile != "-" && console.movesCursor(on: console.standardError)
        )
        var received = 0
        do {
            for try await chunk in response.body {
                received += chunk.count
                if !isFailure(response.status.code) { try destination.write(chunk) }
                progress.update(received: received)
            }
            progress.finish()
        } catch {
            progress.finish()
            throw error
        }
        let total = start.duration(to: .now)
        return try FetchReport(
            response,
            received: received,
            total: total,
            includesHead: includesHead,
            settings: settings,
            client: client
        )
    }

    private func text(_ report: FetchReport, settings: ClientSettings, screen: Screen) -> String {
        var text = ""
        if common.output.isVerbose, let rewrite = report.hops.last?.rewrite {
            text += ExplainReport(
                rewrite: rewrite,
                providerKinds: settings.providerKinds,
                certificateAuthorityFile: common.certificateAuthorityFile,
                isVerbose: false
            ).text(screen)
        }
        text += report.text(screen)
        if let hop = report.hops.last, let location = hop.location {
            let isRedacted = location.contains(HTTPDNSClient.TrafficMonitor.Redaction.mark)
            text +=
                isRedacted
                ? "note: the redirect was not followed; its URL has a secret, so raise --max-redirects to follow it\n"
                : "note: the redirect was not followed: resolve-test fetch \(ShellText.quoted(PrintableText.line(location)))\n"
        }
        return text
    }

    private func isFailure(_ status: Int) -> Bool { failsOnStatus && status >= 400 }

    private func statusFailure(_ hop: FetchReport.Hop) -> CommandFailure {
        var failure = CommandFailure.failed(
            code: "http-status",
            "the origin responded with status \(hop.status)",
            hint: "without --fail this is not a failure, and -o - prints the body"
        )
        failure.host = hop.rewrite.urlHost
        failure.requestMayHaveBeenSent = true
        return failure
    }
}
