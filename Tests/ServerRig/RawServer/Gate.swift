// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A gate that a test opens once, so that a server waits for the test instead of for a time.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate is open.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Opens the gate permanently and resumes all waiters.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        for action in waiting { action() }
    }

    /// Returns when the gate is open.
    public func passage() async {
        await withCheckedContinuation { continuation in
            whenOpen { continuation.resume() }
        }
    }

    /// Runs `action` once the gate is open; immediately if it already is.
    func whenOpen(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
