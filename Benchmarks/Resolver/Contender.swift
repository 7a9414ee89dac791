// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// One way to get from a name, or the text of a URL, to addresses.
struct Contender: Sendable {
    /// Does the calls with these numbers.
    typealias Batch = (Range<Int>) -> Void
    typealias AsyncBatch = @Sendable (Range<Int>) async -> Void

    enum Work: Sendable {
        /// Called from threads.
        case synchronous(@Sendable (Names) -> Batch)
        /// Called from tasks, which share a thread for each processor.
        case asynchronous(@Sendable (Names) -> AsyncBatch)
    }

    let name: String
    let work: Work

    init(_ name: String, _ work: Work) {
        self.name = name
        self.work = work
    }
}

/// Contenders that do the same, measured interleaved.
struct Scenario: Sendable {
    let name: String
    let contenders: [Contender]
    let choices: [Names.Choice]
    let threads: [Int]
}

/// Ends the run: a figure for work that was not done would be worse than none.
func requireHit(_ isHit: Bool, _ contender: String) {
    precondition(isHit, "\(contender) missed a name that it has")
}
