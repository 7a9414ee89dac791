// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// The resources that the process has in use.
package struct ProcessState: Sendable {
    /// The names of its threads.
    package var threads: [String]
    /// The number of its open descriptors.
    package var descriptors: Int
    /// The number of descriptors that are sockets.
    package var sockets: Int
    /// Its resident memory, in bytes.
    package var residentBytes: Int

    /// The threads that are not of Dispatch's pool: it names its own after the queue, such as `root.default-qos.overcommit`, of
    /// which the kernel has the end.
    package var ownThreads: [String] {
        threads.filter { !$0.hasSuffix("-qos") && !$0.hasSuffix("-qos.overcommit") }.sorted()
    }

    /// Returns the state of this moment.
    package static func now() throws -> ProcessState {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let sockets = descriptors.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix("socket:")
                == true
        }
        return ProcessState(
            threads: try threadNames(),
            descriptors: descriptors.count,
            sockets: sockets.count,
            residentBytes: try residentBytes()
        )
    }

    /// Returns the names of all threads.
    package static func threadNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap {
            try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Returns whether each thread of a process is stopped, or the process is gone (proc(5), the state in `stat`).
    package static func isStopped(_ process: Int32) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.allSatisfy { thread in
            let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8)) ?? ""
            guard let name = text.lastIndex(of: ")") else { return true }
            return "TtZX".contains(text[name...].dropFirst(2).first ?? "T")
        }
    }

    /// Returns the resident memory, in bytes.
    package static func residentBytes() throws -> Int {
        let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(words[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Returns the name of the current thread.
    package static func threadName() -> String {
        let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        return name.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns a text that no other living thread has: `PROCESS/task/THREAD`.
    package static func threadIdentity() -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
    }

    /// Returns the processor time that the current thread has had.
    package static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
