// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSCore

/// `compare HOST...`: HTTP-DNS compared with the system resolver.
struct CompareCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Compare HTTP-DNS with the system resolver.",
        discussion: """
            Queries both for each name and shows the difference. A difference is normal for names with many addresses. With \
            --probe each address must prove the name: a TLS handshake with the name as SNI, and the certificate check of \
            every request. The connection is closed before a byte of a request is sent. Exits with 3 when an answer cannot \
            prove the name, and with 1 when something could not be compared or reached. With --json, prints one line for \
            each host.
            """
    )

    @Argument(help: ArgumentHelp("Names; NAME:PORT sets the port to probe.", valueName: "HOST")) var hosts: [String]
    @Flag("--probe", "Check by TLS that each address proves the name; sends no request.") var isProbing = false
    @Flag("--strict", "Treat any difference as suspicious (exit 3).") var isStrict = false
    @Option("--port", "N", "Port of hosts that are given without one.") var port: UInt16 = 443

    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        let names = try names()
        let settings = try settings(console)
        let resolver = settings.configuration.resolver
        let providers = resolver.providers.map(\.name)
        let routes = try RouteTable(resolver.routes, providerNames: providers, nameServers: resolver.nameServers)
        let change = settings.requestOptions(common)
        let comparisons = try await settings.withClient { client in
            let comparer = Comparer(
                client: client,
                resolver: resolver,
                routes: routes,
                change: change,
                isProbing: isProbing
            )
            // Each host may connect to several addresses, so fewer run concurrently than in `resolve`.
            return try await ConcurrentWork.map(names, atMost: 16) { name in
                try await comparer.compare(name.host, port: name.port)
            }
        }

        let report = CompareReport(comparisons: comparisons, isStrict: isStrict, isJSON: common.output.isJSON)
        try console.write(common.output, json: report.json(), text: report.text)
        if report.isSuspicious { return ExitStatus.suspicious }
        if let failure = report.failure { throw settings.advised(failure) }
        return ExitStatus.done
    }

    /// Returns the hosts. All arguments are parsed before the first lookup.
    private func names() throws(CommandFailure) -> [(host: HTTPDNSName, port: UInt16)] {
        guard port > 0 else { throw .usage("--port 0 is out of range; allowed: 1 to 65535") }
        return try hosts.map { text throws(CommandFailure) in
            let argument = try HostArgument(text, defaultPort: port)
            guard case .name(let host) = argument.host else {
                throw .usage("\"\(text)\" is an address: there is nothing to compare", hint: "give the name of a host")
            }
            return (host, argument.port)
        }
    }

    /// Returns settings with which HTTP-DNS itself answers: without switches that turn it off, without rollouts and shadow
    /// modes, and without the system resolver as fallback.
    private func settings(_ console: Console) throws -> ClientSettings {
        guard !common.usesSystemFallback else {
            throw CommandFailure.usage(
                "compare queries HTTP-DNS and the system resolver separately, and --system-fallback mixes them",
                hint: "leave --system-fallback out"
            )
        }
        var settings = try ClientSettings(common, environment: console.environment)
        settings.configuration.isEnabled = true
        for index in settings.configuration.resolver.routes.indices {
            guard case .providers(let names, fallback: _) = settings.configuration.resolver.routes[index].action,
                !names.isEmpty
            else { continue }
            settings.configuration.resolver.routes[index].action = .providers(names, fallback: .off)
            settings.configuration.resolver.routes[index].isEnabled = true
            settings.configuration.resolver.routes[index].mode = .use
            settings.configuration.resolver.routes[index].rollout = nil
        }
        return settings
    }
}

/// Concurrent work on many elements, with a limit.
enum ConcurrentWork {
    /// Returns the results in the order of the elements. The first error cancels the rest.
    static func map<Element: Sendable, Result: Sendable>(
        _ elements: [Element],
        atMost bound: Int,
        _ work: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (index, element) in elements.enumerated() {
                if index >= bound, let (done, result) = try await group.next() { results[done] = result }
                group.addTask { (index, try await work(element)) }
            }
            for try await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
#endif
