// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNSPrimitives

/// The root command, which only contains the others.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve-test",
        abstract: "Where does this request go, why, and does it get there?",
        version: "resolve-test \(LibraryVersion.current)",
        subcommands: [
            ResolveCommand.self, ExplainCommand.self, FetchCommand.self, BenchCommand.self, CompareCommand.self,
            WatchCommand.self, CheckCommand.self, ExportCommand.self, DumpCommand.self, MonitorCommand.self,
            SwitchCommand.self, ServeCommand.self, AgentCommand.self, RunCommand.self,
        ]
    )

    static let names = configuration.subcommands.compactMap { $0.configuration.commandName }

    /// The names for error messages: `resolve, explain, ... and serve`.
    static let nameList = names.dropLast().joined(separator: ", ") + " and " + names.suffix(1).joined()
}

/// The output of `resolve-test --help`.
enum RootHelp {
    static let text = """
        Where does this request go, why, and does it get there?
        Usage: resolve-test COMMAND [OPTIONS]; resolve-test COMMAND --help lists them.
               resolve-test NAME is resolve, resolve-test URL is explain.

          resolve HOST...   print addresses, source, time left
          explain URL       print the rewritten request; send nothing to the origin
          fetch URL         send a request, print every phase
          bench URL         load a URL, print rates, latencies and failures
          compare HOST...   compare HTTP-DNS with the system resolver
          watch HOST...     show a live table: time left, staleness, changes, providers
          check [FILE]      validate a configuration file, with line and column
          export [FILE]     print mappings as hosts lines, curl options or JSON
          dump [HOST...]    print the state of a running service
          monitor           print the last calls of a running service
          switch on|off     turn the kill switch of a running service
          serve FILE        run a local HTTP-DNS provider (trait LocalProvider)
          run -- COMMAND    run a command whose names are resolved here (trait NIO)
          agent             serve names to the programs of this machine (trait NIO)

          --config FILE (or HTTPDNS_CONFIG)    --map HOST[:PORT]=ADDRESS[,ADDRESS]
          --doh URL    --bootstrap HOST=ADDRESS    --public    --system-fallback
          --cacert FILE    --allow CIDR    --answer-scope public|private|loopback
          --family v4|v6|both    --json    -v
          --socket PATH (or HTTPDNS_SOCKET)    a service: dump, monitor, switch, watch
        Exit: 0 done  1 failed  2 usage or configuration  3 compare: suspicious answer
              fetch: the statuses of curl, such as 6, 7, 22, 28 and 60
        Without --public, --doh and a file, only the system resolver is queried.

        """
}

protocol Subcommand: ParsableCommand, Sendable {
    /// Does the work and returns the exit status.
    func perform(on console: Console) async throws -> Int32
}
#endif
