// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl

@testable import HTTPDNSCore

/// What a scripted service does about a name that it never answers.
final class Silence: Sendable {
    private let state = Lock<(isShutDown: Bool, kept: [Task<Void, any Error>])>((false, []))

    /// - Throws: A failure when ``shutdown()`` was called.
    func checkShutdown() throws {
        if state.withLock({ $0.isShutDown }) { throw ScriptedVendorExchange.failure(.shutDown) }
    }

    /// Ends at the deadline, when the task is canceled, or at ``shutdown()``.
    func keep(until deadline: MonotonicTime) async throws -> any Error {
        let sleep = Task { try await SystemTimeSource().sleep(until: deadline) }
        let isShutDown = state.withLock { state in
            state.kept.append(sleep)
            return state.isShutDown
        }
        if isShutDown { sleep.cancel() }
        return try await withTaskCancellationHandler {
            do {
                try await sleep.value
                return ScriptedVendorExchange.failure(.timedOut)
            } catch {
                try Task.checkCancellation()
                return ScriptedVendorExchange.failure(.shutDown)
            }
        } onCancel: {
            sleep.cancel()
        }
    }

    func shutdown() {
        let kept = state.withLock { state in
            state.isShutDown = true
            return state.kept
        }
        for sleep in kept { sleep.cancel() }
    }
}
