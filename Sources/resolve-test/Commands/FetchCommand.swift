// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSMonitor
internal import HTTPDNSPrimitives
internal import HTTPDNSResponseCache
internal import HTTPTypes

/// `fetch URL`: send the request, and show every phase.
struct FetchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Send a request with curl's options, and print every phase.",
        usage: "resolve-test fetch [<options>] <URL>",
        discussion: """
            The body goes to standard output, unless that is a terminal, and with --json only to the file of -o. The report \
            goes to standard error; -s leaves it out. -v prints heads of requests and responses, the certificate, and the \
            waterfall of the call. Redirects are followed with -L only. The exit statuses are those of curl where curl has \
            one, else 1 or 2.
            """
    )

    @Argument(help: ArgumentHelp("An http or https URL; http if it has no scheme.", valueName: "URL")) var urls:
        [String] = []

    @OptionGroup var requestOptions: RequestOptions
    @OptionGroup var outputs: FetchOutputOptions
    @OptionGroup var curl: CurlOptions
    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        do {
            return try await send(on: console)
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: any Error) -> CommandFailure {
        var failure = CommandFailure(error)
        failure.usesCurlStatus = true
        failure.isSilent = failure.kind == .failed && outputs.isSilent && !outputs.showsErrors
        return failure
    }

    private func send(on console: Console) async throws -> Int32 {
        let isJSON = common.output.isJSON
        let url = try url()
        try outputs.check(isJSON: isJSON)
        let writeOut = try outputs.writeOut.map { text throws(CommandFailure) in try WriteOut(text) }
        var settings = try ClientSettings(common, environment: console.environment)
        var request = try curl.request(url, requestOptions, common, &settings)
        let body = try outputs.body(of: URLArgument.completed(url), isJSON: isJSON, console.standardOutput)
            .continued(at: outputs.continueAt, range: curl.range)
        if let range = body.range { request.headerFields[.range] = range }
        if let cacheFolder = outputs.cacheFolder {
            let cache = try await openCache(cacheFolder)
            settings.configuration.responseCache = cache
            if !cache.isFolderInUse {
                console.note(["--cache: another process uses the folder, or it does not respond"], unless: isQuiet)
            }
        }
        let destination = try body.destination()
        let files = try TrafficFiles(
            archivePath: outputs.archiveFile,
            reportPath: outputs.reportFile,
            body: destination
        )
        var call = Call(
            request: request,
            url: url,
            body: body,
            destination: destination,
            files: files,
            settings: settings
        )
        call.heads = try outputs.heads(console.standardOutput)
        if call.heads != nil || showsHead { call.settings.configuration.networkInterceptors.append(call.recorder) }
        if files.isWanted || common.output.isVerbose { call.monitor = try monitor() }
        call.settings.configuration.connections.keepsPeerCertificates = common.output.isVerbose
        let unknown = (writeOut?.unknown ?? []).map { "-w: there is no variable \"\($0)\"" }
        console.note(call.settings.notes + unknown, unless: isQuiet)
        var outcome = WriteOut.Values(url: url, request: request, fileName: body.path)
        do {
            let status = try await run(call, &outcome, on: console)
            try writeOut?.write(outcome, on: console)
            return status
        } catch {
            let failure = failure(error)
            outcome.fail(failure)
            try writeOut?.write(outcome, on: console)
            throw failure
        }
    }

    /// The parts of a call that are settled before it, and its observers.
    private struct Call {
        var request: HTTPDNSClient.Request
        /// The URL as the caller wrote it.
        var url: String
        var body: FetchBody
        var destination: BodyDestination
        var files: TrafficFiles
        var settings: ClientSettings
        var heads: BodyDestination?
        var monitor: HTTPDNSTrafficMonitor?
        let recorder = HeadRecorder()
        let observer = CallObserver()
    }

    /// Whether notes and progress are left out.
    private var isQuiet: Bool { common.output.isJSON || outputs.isSilent }

    private func run(_ call: Call, _ outcome: inout WriteOut.Values, on console: Console) async throws -> Int32 {
        let isJSON = common.output.isJSON
        let report: FetchReport
        var failed: FetchReport?
        do {
            report = try await call.settings.withClient { client in
                call.monitor?.start(on: client)
                client.addObserver(call.observer)
                do {
                    return try await fetch(call, client: client, &outcome, console: console)
                } catch {
                    failed = FetchReport(failed: call.observer, settings: call.settings, client: client)
                    throw error
                }
            }
        } catch {
            if let failed, !isJSON { say(failed, call, on: console) }
            do throws(CommandFailure) {
                try await call.files.write(call.monitor?.records ?? [])
            } catch {
                // The call's own error is the one to report.
                console.note([error.message], unless: isJSON)
            }
            throw error
        }
        let failure = failure(of: report, call)
        // An error page must not replace a good file.
        if failure == nil || outputs.failsWithBody { try call.destination.finish() } else { call.destination.discard() }
        try call.heads?.finish()
        try await call.files.write(call.monitor?.records ?? [])
        console.note(call.settings.remarks(on: report.hops.map(\.rewrite.resolution)), unless: isQuiet)
        if isJSON {
            try console.standardOutput.write(report.json().indented + "\n")
        } else {
            say(report, call, on: console)
        }
        if let failure { throw failure }
        return ExitStatus.done
    }

    private func url() throws(CommandFailure) -> String {
        let given = urls + [curl.url].compactMap(\.self)
        guard let url = given.first else {
            throw .usage("Missing expected argument '<URL>'", hint: "see resolve-test fetch --help")
        }
        guard given.count == 1 else {
            let isJSONText = given.contains { $0.hasPrefix("{") || $0.hasPrefix("[") }
            throw .usage(
                "fetch takes one URL, and \(given.count) are given",
                hint: isJSONText
                    ? "--json takes no value: send JSON with -d DATA -H 'Content-Type: application/json'"
                    : "run fetch once for each URL"
            )
        }
        return url
    }

    private func monitor() throws -> HTTPDNSTrafficMonitor {
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.requestBodyLimit = TrafficFiles.bodyLimit
        settings.responseBodyLimit = TrafficFiles.bodyLimit
        return try HTTPDNSTrafficMonitor(settings)
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

    private func fetch(
        _ call: Call,
        client: HTTPDNSClient,
        _ outcome: inout WriteOut.Values,
        console: Console
    ) async throws -> FetchReport {
        let start = ContinuousClock.now
        var received = 0
        let response: HTTPDNSClient.Response
        do {
            response = try await client.execute(call.request)
        } catch {
            outcome.take(call.observer.last, nil, received: 0, total: start.duration(to: .now), call.settings)
            // The redirects, for example, before the one that was not followed.
            try write(heads: call.recorder.heads.joined(), of: call, on: console)
            try call.heads?.finish()
            throw error
        }
        let earlier = call.recorder.heads.dropLast().joined()
        try write(heads: earlier + HeadText.text(response), of: call, on: console)
        let length = response.headerFields.singleton(.contentLength).flatMap { Int(digits: $0.value) }
        var progress = DownloadProgress(
            on: console.standardError,
            expected: length,
            isWanted: !isQuiet && !(call.body.path == "-" && call.body.isTerminal)
                && console.movesCursor(on: console.standardError)
        )
        let status = response.status.code
        let isRefused = curl.refusal(of: status, location: response.headerFields.singleton(.location)?.value) != nil
        let isWritten =
            !curl.isHead && !isRefused && writes(status)
            && call.body.takes(status, contentRange: response.headerFields.singleton(.contentRange)?.value)
        func note(_ total: Duration) {
            outcome.take(call.observer.last, response, received: received, total: total, call.settings)
        }
        do {
            for try await chunk in response.body {
                received += chunk.count
                if isWritten { try call.destination.write(chunk) }
                progress.update(received: received)
            }
            progress.finish()
        } catch {
            progress.finish()
            note(start.duration(to: .now))
            throw error
        }
        let total = start.duration(to: .now)
        note(total)
        return FetchReport(
            response,
            of: call.observer,
            received: received,
            total: total,
            includesHead: showsHead,
            settings: call.settings,
            client: client
        )
    }

    /// Writes status and header fields to the places of `-D` and `-i`.
    private func write(heads: String, of call: Call, on console: Console) throws(CommandFailure) {
        try call.heads?.write(RawText.bytes(heads))
        guard showsHead, !common.output.isJSON else { return }
        if call.body.path == nil {
            try console.standardOutput.write(heads)
        } else {
            try call.destination.write(RawText.bytes(heads))
        }
    }

    private func say(_ report: FetchReport, _ call: Call, on console: Console) {
        let records = call.monitor?.records ?? []
        let screen = console.screen(for: console.standardError)
        var text = ""
        if common.output.isVerbose {
            text += HopTrace.text(
                records,
                connections: call.observer.connections,
                version: curl.connection.usesHTTP10 ? .http10 : .http11
            )
            if let rewrite = report.hops.last?.rewrite, report.failed == nil || !rewrite.isUnresolved {
                text += ExplainReport(
                    rewrite: rewrite,
                    providerKinds: call.settings.providerKinds,
                    certificateAuthorityFile: common.certificateAuthorityFile,
                    isVerbose: false
                ).text(screen)
            }
        }
        if !outputs.isSilent {
            text += report.text(screen)
            if report.failed == nil, report.hops.last?.location != nil {
                text += "note: the redirect was not followed; -L follows it\n"
            }
        }
        if common.output.isVerbose { text += TrafficText(screen).waterfall(records) }
        if !text.isEmpty { console.standardError.say(text) }
    }

    /// Whether status and header fields belong to the output.
    private var showsHead: Bool { outputs.includesHead || curl.isHead }

    /// Whether the body of a response with this status is written.
    private func writes(_ status: Int) -> Bool { !(outputs.failsOnStatus && status >= 400) || outputs.failsWithBody }

    /// Returns the failure that a complete response is.
    private func failure(of report: FetchReport, _ call: Call) -> CommandFailure? {
        let status = report.status
        // As with curl: nothing is behind the end of a complete file. With a Content-Range or --fail-with-body curl fails.
        let isComplete =
            status == 416 && call.body.range != nil && call.request.method == .get && report.contentRange == nil
            && !outputs.failsWithBody
        var failure: CommandFailure
        if outputs.failsOnStatus || outputs.failsWithBody, status >= 400, !isComplete {
            failure = .failed(
                code: "http-status",
                "the origin responded with status \(status)",
                hint: outputs.failsWithBody
                    ? nil : "without --fail this is not a failure, and --fail-with-body writes the body",
                curlStatus: CurlExitStatus.httpStatus
            )
        } else if let refusal = curl.refusal(of: status, location: report.hops.last?.location) {
            failure = refusal
        } else if !call.body.takes(status, contentRange: report.contentRange), status != 416 {
            failure = .failed(
                code: "range-refused",
                "the origin did not send the part of the resource from the requested byte, so the file cannot be continued",
                hint: "without -C the whole resource is requested",
                curlStatus: CurlExitStatus.rangeRefused
            )
        } else {
            return nil
        }
        failure.host = report.hops.last?.rewrite.urlHost
        failure.requestMayHaveBeenSent = true
        return failure
    }
}
#endif
