// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The threads of the client's loops, found by their names.
enum LoopThreads {
    private static let namePrefix = "httpdns-loop"

    /// The CPU seconds of each so far, by the number of its thread.
    @Sendable
    static func processorSeconds() -> [Int: Double] {
        var seconds: [Int: Double] = [:]
        for thread in threads() where content("/proc/self/task/\(thread)/comm").hasPrefix(namePrefix) {
            // The kernel's clock of a thread of this process: 2 for the scheduler's time, 4 for a thread. /proc has ticks of 10 ms.
            var time = timespec()
            guard clock_gettime(~Int32(thread) << 3 | 6, &time) == 0 else { continue }
            seconds[thread] = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        return seconds
    }

    private static func threads() -> [Int] {
        guard let folder = opendir("/proc/self/task") else { return [] }
        defer { closedir(folder) }
        var numbers: [Int] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = Int(name) { numbers.append(number) }
        }
        return numbers
    }

    private static func content(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
