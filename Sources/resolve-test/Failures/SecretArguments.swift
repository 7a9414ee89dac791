internal import HTTPDNS

/// The arguments that contain a password, such as `https://user:password@host/`.
///
/// An error that repeats one would appear on terminals and in logs of build servers.
struct SecretArguments {
    private let shown: [(secret: String, text: String)]

    init(_ arguments: [String]) {
        shown = arguments.compactMap { argument in
            // The value of `--doh=URL`, or the whole argument.
            let value = argument.hasPrefix("--") ? argument.drop { $0 != "=" }.dropFirst() : argument[...]
            guard !value.hasPrefix("@"), let at = value.lastIndex(of: "@"), value[..<at].contains(":") else {
                return nil
            }
            return (String(value), URLText.forErrors(String(value)))
        }
    }

    /// Returns the failure without the user information of any argument.
    func hidden(in failure: CommandFailure) -> CommandFailure {
        var failure = failure
        failure.message = hidden(in: failure.message)
        failure.hint = failure.hint.map(hidden)
        failure.host = failure.host.map(hidden)
        return failure
    }

    private func hidden(in text: String) -> String {
        shown.reduce(text) { $0.replacing($1.secret, with: $1.text) }
    }
}
