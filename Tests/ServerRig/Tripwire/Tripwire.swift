// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A proof that a program does not use the system resolver. A preloaded library records and refuses every lookup of a name, and
/// every connection or packet to port 53 (`Scripts/tripwire.c`).
public struct Tripwire: Sendable {
    private let library: String

    /// Returns the tripwire, compiled once per process.
    /// - Throws: ``RigError`` without a C compiler.
    public static func shared() async throws -> Tripwire { try await compiled.value }

    private static let compiled = Task { try await compile() }

    private static func compile() async throws -> Tripwire {
        Tripwire(library: try await PreloadedLibrary.compile("tripwire"))
    }

    /// Runs a command with the tripwire preloaded.
    /// - Parameter recordsSockets: Whether the sockets that it opens are among the lookups, such as `socket IPv4`.
    /// - Returns: The command's result, and its lookups, such as `getaddrinfo img.shop.test` or `connect 127.0.0.1 port 53`.
    public func run(
        _ command: Command,
        recordsSockets: Bool = false,
        within limit: Duration = .seconds(120)
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
