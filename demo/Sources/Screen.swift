// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// Lines for people: color on a terminal only, and none where NO_COLOR is set (no-color.org).
struct Screen: Sendable {
    private let hasColour = isatty(STDOUT_FILENO) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)

    func bold(_ text: String) -> String { styled(text, "1") }
    func dim(_ text: String) -> String { styled(text, "2") }
    func red(_ text: String) -> String { styled(text, "31") }
    func green(_ text: String) -> String { styled(text, "32") }

    func heading(_ number: Int, _ title: String) { line(bold("\(number) \(title)")) }

    func detail(_ text: String) { line("    " + text) }

    /// Prints a label and its text, in columns.
    func detail(_ label: String, _ text: String, width: Int = 36) {
        detail(label.padding(toLength: max(width, label.count + 1), withPad: " ", startingAt: 0) + text)
    }

    func line(_ text: String) {
        // Each line immediately, also into a pipe: the output is watched during the run.
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private func styled(_ text: String, _ code: String) -> String {
        hasColour ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension Duration {
    /// The duration in a form such as `1.9 ms`.
    var inMilliseconds: String { String(format: "%.1f ms", self / .milliseconds(1)) }
}

extension Int {
    /// The number in a form such as `1,024`.
    var grouped: String {
        let digits = Array(String(magnitude).reversed())
        let groups = stride(from: 0, to: digits.count, by: 3).map { digits[$0..<Swift.min($0 + 3, digits.count)] }
        return (self < 0 ? "-" : "") + String(groups.joined(separator: [","]).reversed())
    }
}
