// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSControl

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
    var phase: String?
    var message: String
    var hint: String?
    var host: String?
    /// The addresses that were tried.
    var attempts: [HTTPDNSClientError.Attempt] = []
    /// The number of attempts that are left out between the first and the last half of ``attempts``.
    var attemptsLeftOut = 0
    var providerAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// Whether the origin may have received the request; nil for commands without a request.
    var requestMayHaveBeenSent: Bool?
    var issues: [HTTPDNSConfigurationFileError.Issue] = []
    /// The exit status of a run that a signal ended.
    var signalStatus: Int32?
    /// The number of further mistakes.
    var omittedIssues = 0
    /// The exit status of curl for this failure; nil when curl has none with its meaning.
    var curlStatus: Int32?
    /// Whether the exit status is that of curl, as for `fetch`.
    var usesCurlStatus = false
    /// Whether it is not printed, because of `-s`.
    var isSilent = false

    init(kind: Kind, code: String, message: String, hint: String? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.hint = hint
    }

    static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(kind: .usage, code: "usage", message: message, hint: hint)
    }

    static func failed(
        code: String,
        _ message: String,
        hint: String? = nil,
        host: String? = nil,
        curlStatus: Int32? = nil
    ) -> CommandFailure {
        var failure = CommandFailure(kind: .failed, code: code, message: message, hint: hint)
        (failure.host, failure.curlStatus) = (host, curlStatus)
        return failure
    }

    static func outputFailed(_ message: String, hint: String? = nil) -> CommandFailure {
        .failed(code: "output-failed", message, hint: hint, curlStatus: CurlExitStatus.writeFailed)
    }

    /// Returns the failure of a command in a build without a package trait that it needs.
    static func withoutTrait(_ trait: String, neededBy command: String) -> CommandFailure {
        CommandFailure(
            kind: .usage,
            code: "trait",
            message: "this resolve-test was built without the trait \(trait), which \(command) needs",
            hint: "build it with: swift build --traits default,CommandLine,\(trait)"
        )
    }

    static func information(_ text: String) -> CommandFailure {
        CommandFailure(kind: .information, code: "information", message: text)
    }

    static var noCommand: CommandFailure {
        .usage(
            "no command is given; commands are \(RootCommand.nameList)",
            hint: "see resolve-test --help"
        )
    }

    var exitStatus: Int32 {
        if let signalStatus { return signalStatus }
        return switch kind {
        case .failed: usesCurlStatus ? curlStatus ?? ExitStatus.failed : ExitStatus.failed
        case .usage: ExitStatus.usage
        case .information: ExitStatus.done
        }
    }
}

extension CommandFailure {
    /// Creates the failure for an error of the library, or of the program itself.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as HTTPDNSClientError: self.init(error)
        case let error as HTTPDNSResolver.Error: self.init(error)
        case let error as HTTPDNSConfigurationFileError: self.init(error)
        case is HTTPDNSMapping.Error, is HTTPDNSProviderConfigurationError, is HTTPDNSResolver.ConfigurationError:
            self.init(kind: .usage, code: "configuration", message: "\(error)")
        case let error as ControlCallError: self.init(error)
        case is CancellationError: self = .failed(code: "canceled", "canceled")
        default: self = .failed(code: "unknown", "\(error)")
        }
    }

    private init(_ error: HTTPDNSClientError) {
        let unusable: Set<HTTPDNSClientError.Code> = [.invalidURL, .invalidRequest, .configuration]
        self.init(
            kind: unusable.contains(error.code) ? .usage : .failed,
            code: "\(error.code)",
            message: FlagHint.message(error.message),
            hint: error.hint
        )
        phase = "\(error.phase)"
        host = error.host
        (attempts, attemptsLeftOut) = (error.attempts, error.attemptsLeftOut)
        requestMayHaveBeenSent = error.requestMayHaveBeenSent
        hint = FlagHint.hint(for: error)
        curlStatus = CurlExitStatus.status(of: error)
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
            hint: FlagHint.withoutSettings(error.hint)
        )
        phase = "\(HTTPDNSClientError.Phase.resolve)"
        reason = "\(error.code)"
        host = error.host
        providerAttempts = error.attempts
        curlStatus = error.code == .timedOut ? CurlExitStatus.timedOut : CurlExitStatus.hostNotResolved
    }

    /// Creates a failure with one line that names the command which lists all mistakes.
    private init(_ error: HTTPDNSConfigurationFileError) {
        let first = error.issues.first
        let more = error.issues.count + error.omitted - 1
        self.init(
            kind: .usage,
            code: "configuration",
            message: first.map { "\($0.location): \($0.message)" } ?? "\(error)",
            hint: first?.hint
        )
        issues = error.issues
        omittedIssues = error.omitted
        if more > 0, let file = first?.location.file {
            let count = more == 1 ? "1 more error" : "\(more) more errors"
            hint = [hint, "\(count): see resolve-test check \(ShellText.quoted(file))"].compactMap { $0 }.joined(
                separator: "; "
            )
        }
    }
}
#endif
