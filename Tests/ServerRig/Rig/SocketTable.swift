// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The TCP sockets of IPv4 in the kernel's list (proc(5), `/proc/net/tcp`).
public enum SocketTable {
    /// Returns whether a socket listens on a port of 127.0.0.1. A test connection could be the only connection that its server
    /// accepts.
    static func isListening(on port: UInt16) -> Bool {
        let local = "0100007F:" + hexadecimal(port)
        // State 0A is TCP_LISTEN.
        return rows().contains { $0[1] == local && $0[3] == "0A" }
    }

    /// Returns the number of unread bytes in the sockets connected to a port; `nil` when there is no such socket.
    public static func unread(to port: UInt16) -> Int? {
        let remote = ":" + hexadecimal(port)
        // States 01 and 08 are TCP_ESTABLISHED and TCP_CLOSE_WAIT.
        let sizes = rows().filter { $0[2].hasSuffix(remote) && ($0[3] == "01" || $0[3] == "08") }
            .compactMap { $0[4].split(separator: ":").last.flatMap { Int($0, radix: 16) } }
        return sizes.isEmpty ? nil : sizes.reduce(0, +)
    }

    /// Waits until the number of unread bytes meets a condition, see ``unread(to:)``.
    /// - Throws: ``RigError`` after two minutes.
    public static func awaitUnread(to port: UInt16, _ condition: (Int?) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while !condition(unread(to: port)) {
            guard ContinuousClock.now < deadline else {
                throw RigError("\(unread(to: port).map(String.init) ?? "no socket") unread on port \(port)")
            }
            // No system call waits for another socket's queue.
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits until a number of sockets connect to a port, and neither succeed nor fail.
    /// - Throws: ``RigError`` after two minutes.
    public static func awaitConnecting(to port: UInt16, count: Int) async throws {
        let remote = ":" + hexadecimal(port)
        let deadline = ContinuousClock.now + .seconds(120)
        // State 02 is TCP_SYN_SENT.
        while rows().count(where: { $0[2].hasSuffix(remote) && $0[3] == "02" }) != count {
            guard ContinuousClock.now < deadline else {
                throw RigError("there are not \(count) sockets that connect to port \(port)")
            }
            // No system call waits for another socket's state.
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private static func hexadecimal(_ port: UInt16) -> String {
        let text = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - text.utf8.count) + text
    }

    private static func rows() -> [[Substring]] {
        guard let table = fopen("/proc/net/tcp", "r") else { return [] }
        defer { fclose(table) }
        var rows: [[Substring]] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), table) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = text.split(separator: " ")
            if words.count > 4 { rows.append(words) }
        }
        return rows
    }
}
