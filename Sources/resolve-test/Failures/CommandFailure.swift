internal import HTTPDNS
internal import HTTPDNSConfiguration

/// The failure of a command: a readable line, an object for programs, and an exit status.
struct CommandFailure: Error, Sendable {
    enum Kind: Hashable, Sendable {
        /// A name, connection or answer failed: exit 1.
        case failed
        /// The arguments or the configuration cannot be used: exit 2.
        case usage
        /// Help or version, which the argument parser throws as an error: exit 0.
        case information
    }

    var kind: Kind
    /// A short identifier for programs.
    var code: String
    /// The reason that a name has no address, as a short identifier: `name-not-found`.
    var reason: String?
    /// The phase of the request, where there is one.
    var stage: String?
    /// The failure in words.
    var message: String
    /// The suggested action.
    var hint: String?
    /// The host concerned.
    var host: String?
    /// The addresses that were tried.
    var attempts: [HTTPDNSClientError.Attempt] = []
    /// The providers that were queried.
    var providerAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// Whether the origin may have received the request; nil for commands without a request.
    var requestMayHaveBeenSent: Bool?
    /// The mistakes of a configuration file.
    var mistakes: [ConfigurationFileError.Mistake] = []
    /// The exit status of a run that a signal ended.
    var signalStatus: Int32?
    /// The number of further mistakes.
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
