// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The resumptions of callers, which are resumed together at the end of a turn.
struct CallerResumptions {
    private var resumptions: [ResponseState.Action] = []
    /// Those of callers that need no thread of the runtime.
    private var own: [ResponseState.Action] = []

    /// - Returns: Whether there is something to resume.
    mutating func append(_ action: ResponseState.Action) -> Bool {
        switch action.place {
        case .ofItsOwn: own.append(action)
        case .anyThread:
            if case .none = action { return false }
            resumptions.append(action)
        }
        return true
    }

    /// Resumes the queued callers; several are resumed by a task. Each resumption may wake a worker thread of the runtime,
    /// which runs out of work before the next one arrives. From this thread that cost a thread switch in both directions for
    /// every two requests. The task's priority puts it before the workers' other jobs.
    mutating func run() {
        for action in own { action.run() }
        own.removeAll(keepingCapacity: true)
        guard resumptions.count > 1 else {
            for action in resumptions { action.run() }
            return resumptions.removeAll(keepingCapacity: true)
        }
        let batch = resumptions
        resumptions = []
        resumptions.reserveCapacity(batch.count)
        Task(priority: .high) { for action in batch { action.run() } }
    }
}
