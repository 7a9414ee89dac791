// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl
internal import HTTPDNSMonitor

/// `monitor`: the last calls of a running service.
struct MonitorCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: "Print the last calls of a running service.",
        usage: "resolve-test monitor [<options>]",
        discussion: """
            Asks the service through its control socket for the records of its traffic monitor. They are redacted: secrets in \
            URLs, header fields and bodies are replaced before a record is made. Sends no other query, and changes nothing. \
            With --json, prints one record for each line.
            """
    )

    @Option("--limit", "N", "Maximum number of calls, 1 to 2000; the newest ones.")
    var limit = RecordSelection.defaultLimit
    @Option(
        "--host",
        "HOST",
        "Print only calls with this host in one of their hops; '*.SUFFIX' stands for all names below it. Repeatable."
    )
    var hosts: [String] = []
    @Option("--status", "STATUS", "Print only calls with this status, such as 404 or 5xx.") var status: String?
    @Flag("--failed", "Print only calls that failed, also within the response body.") var isFailed = false
    @Option("--slower-than", "DURATION", "Print only calls that took longer, such as 100ms.") var slowerThan: String?
    @Option("--id", "NUMBER", "Print this call alone, with its hops, phases, addresses and fields.") var callID: UInt64?
    @Flag("--follow", "Continue with new calls until Ctrl-C.") var follows = false
    @Option("--interval", "DURATION", "Time between two requests with --follow, 200ms to 30s.") var intervalText = "1s"

    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    /// Below the time after which the service closes an idle connection.
    private static let intervals = Duration.milliseconds(200)...Duration.seconds(30)

    func perform(on console: Console) async throws -> Int32 {
        var selection = try selection()
        let interval = try DurationArgument.duration(intervalText, of: "--interval", in: Self.intervals)
        let call = try socket.call(console.environment)
        var records = try await records(selection, from: call)
        if let callID {
            guard let record = records.calls.first else { throw Self.unknown(callID, stored: records.stored) }
            if records.isTruncated {
                console.note(["the bodies were left out: they do not fit into a reply"], unless: output.isJSON)
            }
            try console.write(output, json: MonitorReport.json([record])) { screen in
                MonitorReport.detail(record, screen, clock: .local)
            }
            return ExitStatus.done
        }
        if records.isTruncated {
            console.note(["older calls were left out: they do not fit into a reply"], unless: output.isJSON)
        }
        try write(records, to: console)
        while follows {
            // A full reply means that there may be more.
            let mayHaveMore = records.calls.count == limit || records.isTruncated
            if selection.after == nil || !mayHaveMore { try await Task.sleep(for: interval) }
            // Without a record all later ones are new. The number of a call is never 0.
            selection.after = records.last ?? selection.after ?? 0
            records = try await self.records(selection, from: call)
            try write(records, to: console)
        }
        return ExitStatus.done
    }

    private func records(_ selection: RecordSelection, from call: ControlCall) async throws -> ControlReply.Records {
        guard let records = try await call.ask(ControlRequest(.records(selection))).records else {
            throw CommandFailure.incomplete
        }
        return records
    }

    private func write(_ records: ControlReply.Records, to console: Console) throws {
        guard !records.calls.isEmpty else { return }
        try console.write(output, json: MonitorReport.json(records.calls)) { screen in
            MonitorReport.list(records.calls, screen, clock: .local)
        }
    }

    private func selection() throws(CommandFailure) -> RecordSelection {
        guard (1...ControlRequest.Selection.maximumLimit).contains(limit) else {
            throw .usage("--limit \(limit) is out of range; allowed: 1 to \(ControlRequest.Selection.maximumLimit)")
        }
        if callID != nil, follows {
            throw .usage("--id and --follow cannot be combined", hint: "a call has one record, which does not change")
        }
        var selection = RecordSelection(limit: limit)
        selection.names = try ServiceNames.patterns(hosts)
        if let status {
            guard let statuses = RecordSelection.Statuses(status) else {
                throw .usage("--status \"\(status)\" is not a status", hint: "such as 404 or 5xx")
            }
            selection.statuses = statuses
        }
        selection.isFailed = isFailed
        selection.slowerThan = try slowerThan.map { text throws(CommandFailure) in
            try DurationArgument.duration(text, of: "--slower-than", in: .zero...(.seconds(86_400)))
        }
        selection.callID = callID
        return selection
    }

    private static func unknown(_ callID: UInt64, stored: Int) -> CommandFailure {
        .failed(
            code: "unknown-call",
            "the service has no record of call \(callID); it keeps \(Figures.count(stored)) of the newest records",
            hint: "without --id, the numbers of the last calls are printed"
        )
    }
}
#endif
