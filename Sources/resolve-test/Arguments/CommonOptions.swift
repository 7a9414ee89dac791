// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// The options about the configuration file and mappings.
struct MappingOptions: ParsableArguments, Sendable {
    @Option(
        "--config",
        "FILE",
        "Configuration file; without it the one that HTTPDNS_CONFIG names.",
        completion: .file()
    )
    var configurationFile: String?
    @Option(
        "--map",
        "HOST[:PORT]=ADDRESS[,ADDRESS]",
        "Connect to these addresses for the name; replaces the file's rules for it. Repeatable."
    )
    var maps: [String] = []
}

/// The options of every command that resolves: the sources of addresses, and the format of the output.
struct CommonOptions: ParsableArguments, Sendable {
    @OptionGroup var mappings: MappingOptions

    var configurationFile: String? { mappings.configurationFile }
    var maps: [String] { mappings.maps }

    @Option("--doh", "URL", "Query this DNS-over-HTTPS service for every name except internal ones. Repeatable.")
    var dohURLs: [String] = []
    @Option(
        "--bootstrap",
        "HOST=ADDRESS[,ADDRESS]",
        "Addresses of the host in a --doh URL, which is never looked up. Repeatable."
    )
    var bootstraps: [String] = []
    @Flag("--public", "Query 1.1.1.1 and 8.8.8.8 over HTTPS for every name except internal ones.")
    var usesPublicProviders = false
    @Option("--answer-scope", "SCOPE", "The most private addresses that --doh and --public may return.")
    var answerScope = AnswerChoice.public
    @Option(
        "--cacert",
        "FILE",
        "Trust only the certificate authorities in this PEM file, for providers and origins.",
        completion: .file()
    )
    var certificateAuthorityFile: String?
    @Option("--allow", "CIDR", "Allow addresses in this block, from every source. Repeatable.")
    var allowedBlocks: [String] = []
    @Flag("--system-fallback", "Query the system resolver when no provider has an answer.")
    var usesSystemFallback = false
    @Option("--family", "FAMILY", "Use only addresses of this family.") var family: FamilyChoice?

    @OptionGroup var output: OutputOptions
}

/// The options of every command: the format of the output.
struct OutputOptions: ParsableArguments, Sendable {
    @Flag("--json", "Print JSON on standard output, and errors as JSON on standard error.") var isJSON = false
    @Flag("-v --verbose", "Print more: failed attempts, and further details.") var isVerbose = false
}

/// The values of `--answer-scope`.
enum AnswerChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case `public`, `private`, loopback

    var scope: HTTPDNSAddressPolicy.Scope { self == .public ? .public : self == .private ? .private : .loopback }
}

/// The values of `--family`.
enum FamilyChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case v4, v6, both

    var families: HTTPDNSAddress.Families { self == .v4 ? .v4 : self == .v6 ? .v6 : .both }
}

/// The options that select a running service.
struct SocketOptions: ParsableArguments, Sendable {
    @Option(
        "--socket",
        "PATH",
        "Control socket of a running service; without it the one that HTTPDNS_SOCKET names.",
        completion: .file()
    )
    var path: String?

    /// Returns the given path; nil when there is none.
    func path(_ environment: [String: String], usesEnvironment: Bool = true) -> String? {
        path ?? (usesEnvironment ? environment["HTTPDNS_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } : nil)
    }

    /// Returns a connection to the service.
    /// - Throws: ``CommandFailure`` without a path; `ControlCallError`.
    func call(_ environment: [String: String]) throws -> ControlCall {
        guard let path = path(environment) else {
            throw CommandFailure.usage(
                "no service is given: neither --socket PATH nor HTTPDNS_SOCKET is set",
                hint: "PATH is the control socket of the service"
            )
        }
        return try ControlCall(path: path)
    }
}

extension CommandFailure {
    init(_ error: ControlCallError) {
        self.init(
            kind: error.isUsage ? .usage : .failed,
            code: error.fault ?? error.code.rawValue,
            message: error.message,
            hint: error.isUsage
                ? "--socket takes the path of a running service's control socket"
                : error.hint
        )
    }
}
#endif
