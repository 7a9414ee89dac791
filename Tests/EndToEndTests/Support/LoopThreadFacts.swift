// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// Which thread something ran on.
struct LoopThreadFacts: Sendable {
    var name: String
    var number: Int

    static func here() -> LoopThreadFacts {
        let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        return LoopThreadFacts(
            name: name.trimmingCharacters(in: .whitespacesAndNewlines),
            number: link.split(separator: "/").last.flatMap { Int($0) } ?? 0
        )
    }
}
