// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The names of pins, which are numbers, and the TLS sessions behind them, for all loops of a transport.
///
/// libcurl resumes a session only under the name that it was made with. So the loops use one name for one key. The pool of a
/// multi handle finds connections by their name alone. So a loop that has dropped the pin of a key never gets its name for that
/// key again, and a name stands for another key only when no loop uses it any more.
final class SharedPinNames: Sendable {
    /// A name, which is a number, with the sessions of its connections.
    struct Name: Sendable {
        let number: UInt64
        let sessions: SharedTLSSessions
    }

    private struct State {
        /// The names that pins of these keys get.
        var current: [PinKey: Name] = [:]
        /// The number of pins under a name.
        var users: [UInt64: Int] = [:]
        var free: [UInt64] = []
        var next: UInt64 = 1

        mutating func takeNumber() -> UInt64 {
            if let number = free.popLast() { return number }
            defer { next += 1 }
            return next
        }
    }

    private let state = Lock(State())

    /// Returns the name for a new pin.
    func take(for key: PinKey) -> Name {
        state.withLock { state in
            if let name = state.current[key] {
                state.users[name.number, default: 0] += 1
                return name
            }
            let number = state.takeNumber()
            let name = Name(number: number, sessions: SharedTLSSessions())
            state.current[key] = name
            state.users[number] = 1
            return name
        }
    }

    /// Returns a name for a further pin of a key, which no other loop uses.
    func takeUnshared() -> Name {
        state.withLock { state in
            let number = state.takeNumber()
            state.users[number] = 1
            return Name(number: number, sessions: SharedTLSSessions())
        }
    }

    /// Notes that a loop has dropped the pin of a key: later pins of the key get another name.
    func dropped(_ key: PinKey, _ number: UInt64) {
        state.withLock { state in
            if state.current[key]?.number == number { state.current[key] = nil }
        }
    }

    /// Notes that a dropped pin has neither transfers nor connections any more.
    func giveBack(_ number: UInt64) {
        state.withLock { state in
            let left = (state.users[number] ?? 1) - 1
            state.users[number] = left > 0 ? left : nil
            if left <= 0 { state.free.append(number) }
        }
    }

    /// The number of names in use.
    var count: Int { state.withLock { $0.users.count } }
}
