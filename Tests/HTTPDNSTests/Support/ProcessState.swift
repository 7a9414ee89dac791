// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// What the process has in use.
struct ProcessState {
    var threads: [String]
    var descriptors: Int
    /// Those of the descriptors that are sockets.
    var sockets: Int
    var residentBytes: Int

    /// The threads that are not of Dispatch's pool: it names its own after the queue, such as `root.default-qos.overcommit`, of
    /// which the kernel has the end.
    var ownThreads: [String] {
        threads.filter { !$0.hasSuffix("-qos") && !$0.hasSuffix("-qos.overcommit") }.sorted()
    }

    static func now() throws -> ProcessState {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap {
            try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let sockets = descriptors.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix("socket:")
                == true
        }
        let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return ProcessState(
            threads: threads,
            descriptors: descriptors.count,
            sockets: sockets.count,
            residentBytes: (Int(words[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        )
    }

    /// The name of the thread that this runs on.
    static func threadName() -> String {
        let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        return name.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The processor time that the present thread has had.
    static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
