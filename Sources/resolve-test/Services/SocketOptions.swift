internal import ArgumentParser
internal import HTTPDNSControl

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
