// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSPrimitives

/// A scripted system resolver: it has the names it is given, and records the queried names.
package final class ScriptedSystemResolver: SystemResolving {
    private struct State: Sendable {
        var answers: [HTTPDNSName: Result<[HTTPDNSAddress], SystemResolverError>]
        var questions: [HTTPDNSName] = []
        var isHeld = false
        var held: [OneShot<Void>] = []
        var watchers: [(count: Int, alarm: OneShot<Void>)] = []
    }

    private let state: Lock<State>

    package init(_ answers: [HTTPDNSName: Result<[HTTPDNSAddress], SystemResolverError>] = [:]) {
        state = Lock(State(answers: answers))
    }

    /// The queried names, in order.
    package var questions: [HTTPDNSName] { state.withLock { $0.questions } }

    package func answer(_ answer: Result<[HTTPDNSAddress], SystemResolverError>?, for host: HTTPDNSName) {
        state.withLock { $0.answers[host] = answer }
    }

    /// Holds lookups, from the next one on, until ``release()``.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Resumes the held lookups, and stops holding later ones.
    package func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            return state.held
        }
        for gate in held { gate.deliver(()) }
    }

    /// Returns as soon as at least `count` names were queried, or the waiting task is canceled.
    package func questions(atLeast count: Int) async {
        let alarm = OneShot<Void>()
        let isReached = state.withLock { state in
            guard state.questions.count < count else { return true }
            state.watchers.append((count, alarm))
            return false
        }
        if !isReached { await alarm.value(orOnCancel: ()) }
    }

    /// Answers immediately, unless it is held; an unknown name does not exist.
    package func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress] {
        let gate = OneShot<Void>()
        let (isHeld, seen): (Bool, [OneShot<Void>]) = state.withLock { state in
            state.questions.append(host)
            let seen = state.watchers.filter { $0.count <= state.questions.count }.map(\.alarm)
            state.watchers.removeAll { $0.count <= state.questions.count }
            if state.isHeld { state.held.append(gate) }
            return (state.isHeld, seen)
        }
        for watcher in seen { watcher.deliver(()) }
        if isHeld {
            await withTaskCancellationHandler {
                await gate.value()
            } onCancel: {
                gate.deliver(())
            }
            if Task.isCancelled { throw SystemResolverError(code: .canceled, message: "canceled") }
        }
        let answer = state.withLock { $0.answers[host] }
        guard let answer else { throw SystemResolverError(code: .nameNotFound, message: "name not known") }
        let addresses = try answer.get().filter { families.contains($0.family) }
        if addresses.isEmpty { throw SystemResolverError(code: .noAddresses, message: "no addresses") }
        return addresses
    }
}
