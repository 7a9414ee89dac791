internal import HTTPDNS
internal import HTTPDNSConfiguration

/// Why a command did not do what was asked for: one line for people, one object for programs, an exit status.
struct CommandFailure: Error, Sendable {
    enum Kind: Hashable, Sendable {
        /// A name, connection or answer failed: exit 1.
        case failed
        /// The arguments or the configuration cannot be used: exit 2.
        case usage
        /// Help or version, which the argument parser hands out as an error: exit 0.
        case information
    }

    var kind: Kind
    /// A short word for programs.
    var code: String
    /// Why a name has no address, in a short word: `name-not-found`.
    var reason: String?
    /// The part of a request's way, where there is one.
    var stage: String?
    /// What happened.
    var message: String
    /// What to do.
    var hint: String?
    /// The host that it is about.
    var host: String?
    /// The addresses that were tried.
    var attempts: [HTTPDNSClientError.Attempt] = []
    /// The providers that were asked.
    var providerAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// Whether the origin may have seen the request; nil where no request is meant.
    var requestMayHaveBeenSent: Bool?
    /// The mistakes of a configuration file.
    var mistakes: [ConfigurationFileError.Mistake] = []
    /// The exit status of a run that a signal ended.
    var signalStatus: Int32?
    /// Mistakes beyond those.
    var omittedMistakes = 0

    init(kind: Kind, code: String, message: String, hint: String? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.hint = hint
    }

    static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(kind: .usage, code: "usage", message: message, hint: hint)
    }

    static func failed(code: String, _ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(kind: .failed, code: code, message: message, hint: hint)
    }

    static func information(_ text: String) -> CommandFailure {
        CommandFailure(kind: .information, code: "information", message: text)
    }

    static var noCommand: CommandFailure {
        .usage(
            "no command: say resolve HOST, explain URL, fetch URL, compare HOST, watch HOST, check FILE, export, dump, switch or serve FILE",
            hint: "see resolve-test --help"
        )
    }

    var exitStatus: Int32 {
        if let signalStatus { return signalStatus }
        return switch kind {
        case .failed: ExitStatus.failed
        case .usage: ExitStatus.usage
        case .information: ExitStatus.done
        }
    }
}
