// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An error of a file: its path and the system's text.
package struct FileFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String
    /// The system's error number; nil for another reason.
    package let number: Int32?
    /// Whether the fault may pass without a change of settings, such as a lock of another process.
    package var isPassing = false

    package var description: String { "\(path.escaped(limit: 200)): \(reason)" }

    package init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
        number = nil
    }

    /// - Parameter number: The system's error number.
    package init(_ path: String, _ number: Int32) {
        self.path = path
        reason = systemErrorText(number)
        self.number = number
    }
}
