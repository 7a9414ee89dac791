// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSMessages

/// `resolve HOST...`: addresses, source, remaining lifetime.
struct ResolveCommand: Subcommand {
    static let name = "resolve"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Print addresses, source and time left of names.",
        usage: "resolve-test resolve [<options>] <HOST> ...",
        discussion: """
            HOST is a name or an address; HOST:PORT selects the mapping of a port (443 if left out). A and AAAA select the \
            family. Other record types (\(typeNames)) print records, from the DNS and DNS-over-HTTPS providers of the \
            name's route, or the name servers of the system. PTR takes an address. @URL is --doh URL.

            As with dig, @SERVER asks one name server alone and prints its records: @ADDRESS, @ADDRESS:PORT, @[IPV6]:PORT or \
            @NAME. +tcp asks over TCP, +tls over TLS, +https or +https=/PATH over HTTPS; +time=SECONDS limits the answer. +short prints \
            addresses and data alone. With --json, prints one line of JSON for each host and type. These words may stand \
            before and after HOST. Exits with 1 when a host has no address or no such record.
            """
    )

    private static let typeNames = "CAA, CNAME, HTTPS, MX, NS, PTR, SOA, SRV, SVCB, TXT, TYPE99"

    @Argument(help: ArgumentHelp("Names or addresses; also record types, @SERVER, +short.", valueName: "HOST"))
    var words: [String] = []
    @Option(
        name: .customShort("t", allowingJoined: true),
        parsing: .singleValue,
        help: ArgumentHelp("Record type, such as A or TXT. Repeatable.", valueName: "TYPE")
    )
    var types: [String] = []
    @Option(name: .customShort("p"), help: ArgumentHelp("Port of @SERVER.", valueName: "PORT"))
    var port: UInt16?
    @Option(name: .customShort("x"), help: .hidden)
    var reverseAddress: String?

    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        // All arguments are parsed before the first lookup: a typing error sends nothing.
        if let reverseAddress {
            throw CommandFailure.usage(
                "-x \(PrintableText.line(reverseAddress)) is an option of dig that resolve-test does not have",
                hint: "resolve-test ADDRESS PTR asks for the name of an address; -x is the proxy of fetch"
            )
        }
        let words = try ResolveWords(self.words, types: types, port: port)
        let options = try effectiveOptions(words)
        if words.server.isGiven {
            return try finish(ResolveReport(records: await ask(words, options)), words, on: console)
        }
        let settings = try ClientSettings(options, environment: console.environment)
        let families = words.families ?? options.family?.families
        let report = try await settings.withClient { client in
            var report = ResolveReport(rows: [], providerKinds: settings.providerKinds)
            if words.families?.isEmpty != true {
                // About as long as the slowest name. More would not fit into the system resolver's queue.
                report.rows = try await ConcurrentWork.map(words.hosts, atMost: 64) { host in
                    let outcome = try await client.outcome(of: host.host.queryText, host.port) {
                        $0.families = families
                    }
                    return ResolveReport.Row(question: host, outcome: outcome)
                }
            }
            let types = words.recordTypes(nil)
            if !types.isEmpty {
                let nameServers = try HTTPDNSDNSProvider(
                    .init(name: ServerArgument.systemName, servers: ServerArgument.nameServers)
                )
                let lookup = RecordLookup(client, settings, nameServers: nameServers)
                report.records = try await lookup.rows(words.hosts, types)
                await nameServers.shutdown()
            }
            return report
        }.advised(by: settings)

        let isSilent = common.output.isJSON || words.isShort
        let resolutions = report.rows.compactMap { try? $0.outcome.get() }
        console.note(settings.remarks(on: resolutions, records: report.records), unless: isSilent)
        return try finish(report, words, on: console)
    }

    /// Asks the server of the words.
    private func ask(_ words: ResolveWords, _ options: CommonOptions) async throws -> [RecordReport.Row] {
        try words.server.check(options)
        try TrustFlag.apply(options.certificateAuthorityFile)
        let provider = try await words.server.provider(options)
        let lookup = RecordLookup(asking: provider, timeLimit: words.server.timeLimit)
        let rows = try await lookup.rows(words.hosts, words.recordTypes(options.family))
        await provider.shutdown()
        return rows
    }

    /// Prints the report.
    private func finish(_ report: ResolveReport, _ words: ResolveWords, on console: Console) throws -> Int32 {
        try console.write(common.output, json: report.json()) { screen in
            words.isShort ? report.shortText() : report.text(screen)
        }
        if let failure = report.failure { throw failure }
        return ExitStatus.done
    }

    /// Returns the options with those that the words stand for.
    private func effectiveOptions(_ words: ResolveWords) throws(CommandFailure) -> CommonOptions {
        guard !words.isShort || !common.output.isJSON else {
            throw .usage("+short and --json are two forms of output", hint: "leave one of them out")
        }
        guard words.types.isDisjoint(with: [.a, .aaaa]) || common.family == nil else {
            throw .usage(
                "--family and a record type both select addresses",
                hint: "leave --family out: A is IPv4, AAAA is IPv6"
            )
        }
        var options = common
        options.dohURLs += words.dohURLs
        return options
    }
}

extension HTTPDNSClient {
    /// Returns the result of resolving a host.
    /// - Throws: `CancellationError`.
    func outcome(
        of host: String,
        _ port: UInt16,
        _ change: Request.Options.Change?
    ) async throws -> Result<HTTPDNSResolver.Resolution, CommandFailure> {
        do {
            return .success(try await resolve(host, port: port, change))
        } catch let error as CancellationError {
            throw error
        } catch {
            return .failure(CommandFailure(error))
        }
    }
}
#endif
