// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// A process that is waited for.
enum Child {
    /// Runs a command to its end.
    /// - Returns: What it wrote to standard output.
    /// - Throws: ``BenchError`` with what it wrote to standard error, unless it exits with 0.
    @discardableResult
    static func run(_ command: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        let output = Pipe()
        // A file rather than a second pipe: two pipes read one after the other can block each other.
        let errors = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString).log")
        try Data().write(to: errors)
        defer { try? FileManager.default.removeItem(at: errors) }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        do {
            try process.run()
        } catch {
            throw BenchError("\(command[0]) cannot be started: \(error.localizedDescription)")
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let said = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
            throw BenchError(
                "\(command.joined(separator: " ")) ended with \(process.terminationStatus):\n\(said)"
            )
        }
        return data
    }
}

/// Why a run gives no figures.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
