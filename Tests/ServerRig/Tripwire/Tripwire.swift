internal import Glibc

/// Proves that a program leaves the system resolver alone: it runs the program with a library in front that records and
/// refuses every look-up of a name, and every connection or packet to port 53 (`Scripts/tripwire.c`).
public struct Tripwire: Sendable {
    private let library: String

    /// The tripwire, compiled once per process.
    /// - Throws: ``RigError`` without a C compiler.
    public static func shared() async throws -> Tripwire { try await compiled.value }

    private static let compiled = Task { try await compile() }

    private static func compile() async throws -> Tripwire {
        Tripwire(library: try await PreloadedLibrary.compile("tripwire"))
    }

    /// Runs a command with the tripwire in front.
    /// - Parameter recordsSockets: Whether the sockets that it opens are among the lookups, such as `socket IPv4`.
    /// - Returns: What the command left behind, and its look-ups, such as `getaddrinfo img.shop.test` or
    ///   `connect 127.0.0.1 port 53`.
    public func run(
        _ command: Command,
        recordsSockets: Bool = false,
        within limit: Duration = .seconds(60)
    ) async throws -> (result: CommandResult, lookups: [String]) {
        let log = try FileDescriptor.newFile("lookups", ".log").name
        defer { unlink(log) }
        var guarded = command
        guarded.environment["LD_PRELOAD"] = library
        guarded.environment["TRIPWIRE_LOG"] = log
        if recordsSockets { guarded.environment["TRIPWIRE_SOCKETS"] = "1" }
        let result = try await guarded.run(within: limit)
        try PreloadedLibrary.check(result)
        return (result, try LogFile(path: log).lines(since: .beginning).map(String.init))
    }
}
