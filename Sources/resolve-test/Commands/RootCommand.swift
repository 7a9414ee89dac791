internal import ArgumentParser
internal import HTTPDNSPrimitives

/// The root command, which only contains the others.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve-test",
        abstract: "Where does this request go, why, and does it get there?",
        version: "resolve-test \(LibraryVersion.current)",
        subcommands: [
            ResolveCommand.self, ExplainCommand.self, FetchCommand.self, CompareCommand.self, WatchCommand.self,
            CheckCommand.self, ExportCommand.self, DumpCommand.self, SwitchCommand.self, ServeCommand.self,
        ]
    )

    static let names: Set<String> = [
        "resolve", "explain", "fetch", "compare", "watch", "check", "export", "dump", "switch", "serve",
    ]
}

/// The output of `resolve-test --help`.
enum RootHelp {
    static let text = """
        Where does this request go, why, and does it get there?     (COMMAND --help)
          resolve HOST...   addresses, source, time left
          explain URL       the rewritten request; nothing is sent to the origin
          fetch URL         send it, show every phase
          compare HOST...   HTTP-DNS beside system DNS, with proof (--probe)
          watch HOST...     live table: time left, staleness, changes, providers
          check FILE        validate a configuration file, with line and column
          export [FILE]     mappings as hosts lines, curl --resolve lines or JSON
          dump [HOST...]    a running service: cache, providers, routes, switch
          switch on|off     its kill switch, whole or --route PATTERN
          serve FILE        a local HTTP-DNS provider (trait LocalProvider)

          --config FILE (or HTTPDNS_CONFIG)    --map HOST[:PORT]=ADDRESS[,ADDRESS]
          --doh URL    --bootstrap HOST=ADDRESS    --public    --system-fallback
          --socket PATH (or HTTPDNS_SOCKET)    a running service: dump, switch, watch
          --cacert FILE    --allow CIDR    --answers public|private|loopback
            --family v4|v6|both    --fail    --json    -v
        Exit: 0 done  1 failed  2 usage or configuration  3 compare: answer suspicious.
        Nothing leaves for public DNS without --public.

        """
}

/// A command of the program.
protocol Subcommand: ParsableCommand, Sendable {
    /// Does the work and returns the exit status.
    func perform(on console: Console) async throws -> Int32
}
