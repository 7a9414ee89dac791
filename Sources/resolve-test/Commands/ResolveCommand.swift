// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS

/// `resolve HOST...`: addresses, source, remaining lifetime.
struct ResolveCommand: Subcommand {
    static let name = "resolve"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Print addresses, source and time left of names.",
        usage: "resolve-test resolve [<options>] <HOST> ...",
        discussion: """
            HOST is a name or an address; HOST:PORT selects the mapping of a port (443 if left out). As with dig, record types \
            (A, AAAA, HTTPS), @SERVICE and +short may stand before and after it. @SERVICE is --doh: @URL, or @HOST for \
            https://HOST/dns-query. A and AAAA select the family; HTTPS prints the HTTPS records from a DNS-over-HTTPS \
            service. +short prints addresses alone. With --json, prints one line of JSON for each host. Exits with 1 when a \
            host has no address.
            """
    )

    @Argument(help: ArgumentHelp("Names or addresses; also A, AAAA, HTTPS, @SERVICE, +short.", valueName: "HOST"))
    var words: [String] = []
    @Option(
        name: .customShort("t", allowingJoined: true),
        parsing: .singleValue,
        help: ArgumentHelp("Record type: A, AAAA or HTTPS. Repeatable.", valueName: "TYPE")
    )
    var types: [String] = []
    @Option(name: .customShort("x"), help: .hidden)
    var reverseAddress: String?

    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        // All arguments are parsed before the first lookup: a typing error sends nothing.
        if let reverseAddress {
            throw CommandFailure.usage(
                "-x \(PrintableText.line(reverseAddress)): the name of an address cannot be queried",
                hint: "HTTP-DNS services return addresses of names; dig -x asks a DNS server for the name of an address"
            )
        }
        let words = try ResolveWords(self.words, types: types)
        let options = try effectiveOptions(words)
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
            if words.types.contains(.https) {
                let lookup = HTTPSRecordLookup(client: client, settings: settings)
                report.records = try await ConcurrentWork.map(words.hosts, atMost: 64) { try await lookup.row($0) }
            }
            return report
        }.advised(by: settings)

        let isSilent = common.output.isJSON || words.isShort
        console.note(settings.remarks(on: report.rows.compactMap { try? $0.outcome.get() }), unless: isSilent)
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
