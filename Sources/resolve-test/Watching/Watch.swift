// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS

/// A source of the names that `watch` shows: a resolver of its own, or a running service.
protocol WatchSource: Sendable {
    /// Reports changes until the task is canceled.
    /// - Throws: The reason that there are no further changes.
    func follow(_ report: @escaping @Sendable (WatchChange) -> Void) async throws

    /// Asks the providers again: the key `r`.
    func refresh() async

    /// Updates the parts of the model that change without a report.
    func update(_ model: inout WatchModel)
}

enum WatchChange: Sendable {
    /// The queries of an interval were sent.
    case asked
    /// An answer for the host at the index.
    case answer(Int, Result<HTTPDNSResolver.Resolution, CommandFailure>)
    case event(HTTPDNSResolver.Event)
    case service(HTTPDNSClient.Status)
}

/// The live view: a table on a terminal, elsewhere a line for each notice.
///
/// All inputs pass through one queue to one task, which alone has the model and the output.
struct Watch {
    /// An input of the watch.
    private enum Input: Sendable {
        case change(WatchChange)
        /// The source has no further changes.
        case ended(any Error)
        case key(Character)
        case timeOver
    }

    /// The condition for the end of the watch.
    struct Ending: Sendable {
        /// The duration; nil means until a key or a signal.
        var duration: Duration?
        /// The number of answers for each host, or of reads of a service; nil means any number.
        var count: Int?
    }

    let source: any WatchSource
    let ending: Ending
    let isJSON: Bool
    let isVerbose: Bool
    let console: Console

    /// - Returns: The state at the end.
    /// - Throws: The error of the source; `CancellationError` when the task is canceled; ``CommandFailure`` when the output
    ///   cannot be written.
    func run(_ model: WatchModel) async throws -> WatchModel {
        let (inputs, feed) = AsyncStream<Input>.makeStream()
        let terminal = isJSON ? nil : WatchTerminal(console) { feed.yield(.key($0)) }
        defer { terminal?.restore() }
        let model = try await withThrowingDiscardingTaskGroup { group in
            let source = source
            group.addTask {
                do {
                    try await source.follow { feed.yield(.change($0)) }
                } catch {
                    feed.yield(.ended(error))
                }
            }
            if let duration = ending.duration {
                group.addTask {
                    guard (try? await Task.sleep(for: duration)) != nil else { return }
                    feed.yield(.timeOver)
                }
            }
            var model = model
            var showsDetails = isVerbose
            loop: for await input in inputs {
                switch input {
                case .change(let change): try tell(model.take(change, at: Date()), model.providerKinds, terminal)
                case .ended(let error): throw error
                case .key("q"), .timeOver: break loop
                case .key("r"): group.addTask { await source.refresh() }
                case .key("d"): showsDetails.toggle()
                case .key: continue
                }
                source.update(&model)
                try draw(model, showsDetails: showsDetails, terminal)
                if let count = ending.count, model.isAnswered(times: count) { break }
            }
            group.cancelAll()
            return model
        }
        try Task.checkCancellation()
        return model
    }

    /// Writes one line for each notice, where there is no table.
    private func tell(_ notices: [WatchNotice], _ providerKinds: [String: String], _ terminal: WatchTerminal?)
        throws(CommandFailure)
    {
        guard terminal == nil else { return }
        for notice in notices where isJSON || isVerbose || notice.isWorthShowing {
            let line = isJSON ? notice.json().oneLine : notice.text(providerKinds: providerKinds, clock: .local)
            try console.standardOutput.write(line + "\n")
        }
    }

    private func draw(_ model: WatchModel, showsDetails: Bool, _ terminal: WatchTerminal?) throws(CommandFailure) {
        guard let terminal else { return }
        let table = WatchTable(model: model, showsDetails: showsDetails)
        let style = console.screen(for: console.standardOutput).style
        try terminal.draw { width, height in
            let keys = style.quiet(String("q quit   r refresh   d details".prefix(width)))
            return [keys] + table.lines(Screen(width: width, style: style), height: height - 1)
        }
    }
}
#endif
