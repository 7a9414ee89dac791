// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// The options about the configuration file and mappings.
struct MappingOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file; without it the one that HTTPDNS_CONFIG names.", valueName: "FILE"),
        completion: .file()
    )
    var configurationFile: String?

    @Option(
        name: .customLong("map"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Connect to these addresses for the name; replaces the file's rules for it. Repeatable.",
            valueName: "HOST[:PORT]=ADDRESS[,ADDRESS]"
        )
    )
    var maps: [String] = []
}

/// The options of every command that resolves: the sources of addresses, and the format of the output.
struct CommonOptions: ParsableArguments, Sendable {
    @OptionGroup
    var mappings: MappingOptions

    var configurationFile: String? { mappings.configurationFile }
    var maps: [String] { mappings.maps }

    @Option(
        name: .customLong("doh"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Query this DNS-over-HTTPS service for every name except internal ones. Repeatable.",
            valueName: "URL"
        )
    )
    var dohURLs: [String] = []

    @Option(
        name: .customLong("bootstrap"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Addresses of the host in a --doh URL, which is never looked up. Repeatable.",
            valueName: "HOST=ADDRESS[,ADDRESS]"
        )
    )
    var bootstraps: [String] = []

    @Flag(
        name: .customLong("public"),
        help: "Query 1.1.1.1 and 8.8.8.8 over HTTPS for every name except internal ones."
    )
    var usesPublicProviders = false

    @Option(
        name: .customLong("answer-scope"),
        help: ArgumentHelp("The most private addresses that --doh and --public may return.", valueName: "SCOPE")
    )
    var answerScope = AnswerChoice.public

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp(
            "Trust only the certificate authorities in this PEM file, for providers and origins.",
            valueName: "FILE"
        ),
        completion: .file()
    )
    var certificateAuthorityFile: String?

    @Option(
        name: .customLong("allow"),
        parsing: .singleValue,
        help: ArgumentHelp("Allow addresses in this block, from every source. Repeatable.", valueName: "CIDR")
    )
    var allowedBlocks: [String] = []

    @Flag(name: .customLong("system-fallback"), help: "Query the system resolver when no provider has an answer.")
    var usesSystemFallback = false

    @Option(name: .customLong("family"), help: ArgumentHelp("Use only addresses of this family.", valueName: "FAMILY"))
    var family: FamilyChoice?

    @OptionGroup
    var output: OutputOptions
}

/// The options of every command: the format of the output.
struct OutputOptions: ParsableArguments, Sendable {
    @Flag(name: .customLong("json"), help: "Print JSON on standard output, and errors as JSON on standard error.")
    var isJSON = false

    @Flag(
        name: [.customShort("v"), .customLong("verbose")],
        help: "Print more: failed attempts, and further details."
    )
    var isVerbose = false
}

/// The values of `--answer-scope`.
enum AnswerChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case `public`, `private`, loopback

    var scope: HTTPDNSAddressPolicy.Scope {
        switch self {
        case .public: .public
        case .private: .private
        case .loopback: .loopback
        }
    }
}

/// The values of `--family`.
enum FamilyChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case v4, v6, both

    var families: HTTPDNSAddress.Families {
        switch self {
        case .v4: .v4
        case .v6: .v6
        case .both: .both
        }
    }
}

/// The options that select a running service.
struct SocketOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("socket"),
        help: ArgumentHelp(
            "Control socket of a running service; without it the one that HTTPDNS_SOCKET names.",
            valueName: "PATH"
        ),
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
