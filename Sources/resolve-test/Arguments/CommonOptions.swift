internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSControl

/// The options of every command that resolves: the sources of addresses, and the format of the output.
struct CommonOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file; else HTTPDNS_CONFIG.", valueName: "FILE")
    )
    var configurationFile: String?

    @Option(
        name: .customLong("map"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Dial these addresses for the name; wins over the file. Repeatable.",
            valueName: "HOST[:PORT]=ADDRESS[,ADDRESS]"
        )
    )
    var maps: [String] = []

    @Option(
        name: .customLong("doh"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Ask this DNS-over-HTTPS service about every name but internal ones. Repeatable.",
            valueName: "URL"
        )
    )
    var dohURLs: [String] = []

    @Option(
        name: .customLong("bootstrap"),
        parsing: .singleValue,
        help: ArgumentHelp(
            "Address of the host in a --doh URL, which is never looked up. Repeatable.",
            valueName: "HOST=ADDRESS"
        )
    )
    var bootstraps: [String] = []

    @Flag(name: .customLong("public"), help: "Ask 1.1.1.1 and 8.8.8.8 over HTTPS about every name but internal ones.")
    var usesPublicProviders = false

    @Option(
        name: .customLong("answers"),
        help: "The most private addresses that the services of --doh and --public may answer."
    )
    var answers = AnswerChoice.public

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust only the authorities in this PEM file, for providers and origins.", valueName: "FILE")
    )
    var certificateAuthorityFile: String?

    @Option(
        name: .customLong("allow"),
        parsing: .singleValue,
        help: ArgumentHelp("Allow addresses of this block, whoever names them. Repeatable.", valueName: "CIDR")
    )
    var allowedBlocks: [String] = []

    @Flag(name: .customLong("system-fallback"), help: "Ask the system resolver when no provider has an answer.")
    var usesSystemFallback = false

    @Flag(name: .customLong("fail"), help: "fetch: a status of 400 or more is a failure (exit 1).")
    var failsOnStatus = false

    @Option(name: .customLong("family"), help: "Use addresses of this family only.")
    var family: FamilyChoice?

    @OptionGroup
    var output: OutputOptions
}

/// The options of every command: the format of the output.
struct OutputOptions: ParsableArguments, Sendable {
    @Flag(name: .customLong("json"), help: "JSON on standard output, errors as JSON on standard error.")
    var isJSON = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Say more: every attempt, what libcurl gets.")
    var isVerbose = false
}

/// The values of `--answers`.
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
        help: ArgumentHelp("The control socket of a running service; else HTTPDNS_SOCKET.", valueName: "PATH")
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
                "which service? no --socket PATH is given, and HTTPDNS_SOCKET is not set",
                hint: "PATH is where the service opened its ControlSocket"
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
                ? "--socket PATH names the control socket of a running service, which its ControlSocket made"
                : error.hint
        )
    }
}
