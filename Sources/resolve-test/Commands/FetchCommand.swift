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

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Request method; GET if left out, POST with -d.", valueName: "METHOD")
    )
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Header field: 'Name: value'. Repeatable.", valueName: "FIELD")
    )
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Request body; @FILE reads a file without its line breaks, as curl does. Repeatable.",
            valueName: "DATA"
        )
    )
    var data: [String] = []

    @Option(
        name: .customLong("data-binary"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Request body; @FILE reads a file unchanged. Repeatable.", valueName: "DATA")
    )
    var binaryData: [String] = []

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
        name: .customLong("max-time"),
        help: ArgumentHelp("Time limit for the whole call, in seconds.", valueName: "SECONDS")
    )
    var maximumSeconds: Double?

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
                let appearance = TrafficText.Appearance(
                    width: screen.width,
                    isColored: screen.style.isColoured,
                    isUnicode: screen.isUnicode
                )
                console.standardError.say(TrafficText(appearance).waterfall(monitor.records))
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
        var header = try HeaderArgument(headers)
        var request = HTTPDNSClient.Request(url: url, options: settings.requestOptions(common))
        if !data.isEmpty || !binaryData.isEmpty {
            guard data.isEmpty || binaryData.isEmpty else {
                throw .usage("-d and --data-binary cannot be combined", hint: "use one of them for all parts")
            }
            let isBinary = data.isEmpty
            request.body = .bytes(try DataArgument.bytes(isBinary ? binaryData : data, keepsLineBreaks: isBinary))
            request.method = .post
            if header.fields[.contentType] == nil {
                header.fields[.contentType] = "application/x-www-form-urlencoded"
            }
        }
        if let method {
            guard let parsed = HTTPRequest.Method(rawValue: method) else {
                throw .usage("-X \"\(method)\" is not a method", hint: "such as GET, POST or PURGE")
            }
            request.method = parsed
        }
        request.headerFields = header.fields
        if let maximumRedirects {
            guard (0...100).contains(maximumRedirects) else {
                throw .usage("--max-redirects \(maximumRedirects) is out of range; allowed: 0 to 100")
            }
            var policy = settings.configuration.redirects
            policy.limit = maximumRedirects
            request.options.redirects = policy
        }
        if let hostHeader = header.hostHeader {
            request.options.hostHeader = hostHeader
            settings.notes.append(
                "Host \"\(hostHeader)\" replaces the URL's host in this field only; SNI, certificate and address are the URL's"
                    + " (to change the address, keep the name in the URL and use --map)"
            )
        }
        try applyTimeLimit(to: &request, &settings)
        return request
    }

    private func applyTimeLimit(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings)
        throws(CommandFailure)
    {
        if let maximumSeconds {
            guard maximumSeconds > 0, maximumSeconds <= 1e9 else {
                throw .usage(
                    "--max-time is out of range; allowed: more than 0 and at most 1,000,000,000 seconds",
                    hint: "such as --max-time 2.5"
                )
            }
            request.options.timeout = .seconds(maximumSeconds)
            settings.configuration.timeouts.total = nil
        } else if !settings.readsFile {
            // A download may take as long as bytes keep coming; the idle limit stays.
            settings.configuration.timeouts.total = nil
        }
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
            text +=
                "note: the redirect was not followed: resolve-test fetch \(ShellText.quoted(PrintableText.line(location)))\n"
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
