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
