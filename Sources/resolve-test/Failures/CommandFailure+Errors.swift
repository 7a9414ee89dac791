internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSControl

extension CommandFailure {
    /// Creates the failure for an error of the library, or of the program itself.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as HTTPDNSClientError: self.init(error)
        case let error as HTTPDNSResolver.Error: self.init(error)
        case let error as ConfigurationFileError: self.init(error)
        case let error as HTTPDNSMapping.Error: self = .configuration("\(error)")
        case let error as HTTPDNSProviderConfigurationError: self = .configuration("\(error)")
        case let error as HTTPDNSResolver.ConfigurationError: self = .configuration("\(error)")
        case let error as ControlCallError: self.init(error)
        case is CancellationError: self = .failed(code: "cancelled", "cancelled")
        default: self = .failed(code: "unknown", "\(error)")
        }
    }

    private static func configuration(_ message: String) -> CommandFailure {
        CommandFailure(kind: .usage, code: "configuration", message: message)
    }

    private init(_ error: HTTPDNSClientError) {
        let unusable: Set<HTTPDNSClientError.Code> = [.invalidURL, .invalidRequest, .configuration]
        self.init(
            kind: unusable.contains(error.code) ? .usage : .failed,
            code: "\(error.code)",
            message: error.message,
            hint: error.hint
        )
        stage = "\(error.stage)"
        host = error.host
        attempts = error.attempts
        requestMayHaveBeenSent = error.requestMayHaveBeenSent
        // The library's hints name its settings; this program has flags for them.
        if error.hint == HTTPDNSClientError.missingAuthorityHint {
            hint = "if the server is the right one, --cacert FILE names its authority"
        }
        if error.code == .policyRefused, error.description.contains("policy.allow") {
            hint = [error.hint, "--allow ADDRESS does so for one run"].compactMap { $0 }.joined(separator: "; ")
        }
        if error.code == .timedOut, error.isCallDeadline || error.stage == .total {
            hint = "--max-time SECONDS gives it more"
        }
        if let cause = error.underlying as? HTTPDNSResolver.Error {
            providerAttempts = cause.attempts
            reason = "\(cause.code)"
        }
    }

    private init(_ error: HTTPDNSResolver.Error) {
        self.init(
            kind: error.code == .invalidName ? .usage : .failed,
            code: "\(error.code)",
            message: error.message,
            hint: error.hint
        )
        stage = "\(HTTPDNSClientError.Stage.resolve)"
        reason = "\(error.code)"
        host = error.host
        providerAttempts = error.attempts
    }

    /// Creates a failure with one line that names the command which lists all mistakes.
    private init(_ error: ConfigurationFileError) {
        let first = error.mistakes.first
        let more = error.mistakes.count + error.omitted - 1
        self.init(
            kind: .usage,
            code: "configuration",
            message: first.map { "\($0.location): \($0.message)" } ?? "\(error)",
            hint: first?.hint
        )
        mistakes = error.mistakes
        omittedMistakes = error.omitted
        if more > 0, let file = first?.location.file {
            let count = more == 1 ? "1 more mistake" : "\(more) more mistakes"
            hint = [hint, "\(count): see resolve-test check \(ShellText.quoted(file))"].compactMap { $0 }.joined(
                separator: "; "
            )
        }
    }
}
