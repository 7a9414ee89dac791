internal import ArgumentParser

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
