// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// Which core the origin runs on and which one the contenders run on.
///
/// On cores of their own the ratios are steady; wherever the kernel puts them, they scatter by a factor of two.
struct Cores {
    var origin: Int
    var contender: Int
    /// The cores of a run; all that this process may use when they are not separated.
    var all: [Int]
    var arePinned: Bool

    /// The first two cores that this process may use, if there are two and `taskset` can bind to them.
    static func ofThisMachine() -> Cores {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let list = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }?.split(separator: "\t")
            .last
        let allowed = (list ?? "").split(separator: ",").flatMap { part -> [Int] in
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
        guard allowed.count > 1, FileManager.default.isExecutableFile(atPath: "/usr/bin/taskset") else {
            return Cores(origin: 0, contender: 0, all: allowed, arePinned: false)
        }
        return Cores(
            origin: allowed[0],
            contender: allowed[1],
            all: Array(allowed[..<2]),
            arePinned: true
        )
    }

    /// The same cores for processes that may run on any of them.
    var unpinned: Cores { Cores(origin: origin, contender: contender, all: all, arePinned: false) }

    /// The command line that runs `command` on `core`.
    func bind(_ command: [String], to core: Int) -> [String] {
        arePinned ? ["/usr/bin/taskset", "-c", "\(core)"] + command : command
    }
}
