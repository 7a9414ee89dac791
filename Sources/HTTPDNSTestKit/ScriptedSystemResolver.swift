package import HTTPDNS
package import HTTPDNSPrimitives

/// A stand-in for the system resolver: it knows the names it is given, and keeps what it was asked.
package final class ScriptedSystemResolver: SystemResolving {
    private struct State: Sendable {
        var answers: [HostName: Result<[IPAddress], SystemResolverError>]
        var questions: [HostName] = []
    }

    private let state: Lock<State>

    package init(_ answers: [HostName: Result<[IPAddress], SystemResolverError>] = [:]) {
        state = Lock(State(answers: answers))
    }

    /// The names asked for, in order.
    package var questions: [HostName] { state.withLock { $0.questions } }

    package func say(_ answer: Result<[IPAddress], SystemResolverError>?, about host: HostName) {
        state.withLock { $0.answers[host] = answer }
    }

    /// Answers at once; an unknown name does not exist.
    package func resolve(
        _ host: HostName,
        families: AddressFamilies,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [IPAddress] {
        let answer = state.withLock { state in
            state.questions.append(host)
            return state.answers[host]
        }
        guard let answer else { throw SystemResolverError(code: .nameNotFound, message: "name not known") }
        let addresses = try answer.get().filter { families.contains($0.family) }
        if addresses.isEmpty { throw SystemResolverError(code: .noAddresses, message: "no addresses") }
        return addresses
    }
}
