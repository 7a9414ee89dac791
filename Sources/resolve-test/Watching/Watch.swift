internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A watch of hosts: it resolves each host at an interval, listens to the resolver's events, and shows both.
///
/// All inputs pass through one queue to one task, which alone has the model and the output.
struct Watch {
    /// An input of the watch.
    private enum Input: Sendable {
        /// The watch listens to the resolver: from now on no event is missed.
        case listening
        case tick
        case answer(Int, Result<HTTPDNSResolver.Resolution, CommandFailure>)
        case event(HTTPDNSResolver.Event)
        case key(Character)
        case timeOver
    }

    /// The condition for the end of the watch.
    struct Ending: Sendable {
        /// The duration; nil means until a key or a signal.
        var duration: Duration?
        /// The number of answers for each host; nil means any number.
        var count: Int?
    }

    let client: HTTPDNSClient
    let options: HTTPDNSClient.Request.Options
    let providerKinds: [String: String]
    let interval: Duration
    let ending: Ending
    let isJSON: Bool
    let isVerbose: Bool
    let console: Console

    /// - Returns: The state at the end.
    /// - Throws: `CancellationError` when the task is cancelled; ``CommandFailure`` when the output cannot be written.
    func run(_ questions: [HostArgument]) async throws -> WatchModel {
        let (inputs, feed) = AsyncStream<Input>.makeStream()
        let terminal = isJSON ? nil : WatchTerminal(console) { feed.yield(.key($0)) }
        defer { terminal?.restore() }
        let model = try await withThrowingDiscardingTaskGroup { group in
            let client = client
            let (interval, ending) = (interval, ending)
            group.addTask {
                var events = client.resolver.events.makeAsyncIterator()
                feed.yield(.listening)
                while let event = await events.next() { feed.yield(.event(event)) }
            }
            if let duration = ending.duration {
                group.addTask {
                    guard (try? await Task.sleep(for: duration)) != nil else { return }
                    feed.yield(.timeOver)
                }
            }
            var model = WatchModel(questions)
            var asked: Set<Int> = []
            var showsDetails = isVerbose
            loop: for await input in inputs {
                var isAsking = false
                switch input {
                case .listening:
                    group.addTask {
                        repeat { feed.yield(.tick) } while (try? await Task.sleep(for: interval)) != nil
                    }
                case .tick:
                    isAsking = true
                case .answer(let index, let outcome):
                    asked.remove(index)
                    try tell(model.take(outcome, about: index, at: Date()), terminal)
                case .event(let event):
                    try tell(model.take(event, at: Date()), terminal)
                case .key("q"), .timeOver:
                    break loop
                case .key("r"):
                    client.resolver.removeAllCached()
                    isAsking = true
                case .key("d"):
                    showsDetails.toggle()
                case .key:
                    continue
                }
                if isAsking {
                    // One query for a host at a time: no answer overtakes a newer one.
                    for (index, question) in questions.enumerated() where asked.insert(index).inserted {
                        let options = options
                        group.addTask {
                            guard let outcome = await Self.ask(client, question, options) else { return }
                            feed.yield(.answer(index, outcome))
                        }
                    }
                }
                model.take(client.resolver.providerHealth, client.resolver.counters, at: SystemTimeSource().now())
                try draw(model, showsDetails: showsDetails, terminal)
                if let count = ending.count, model.isAnswered(times: count) { break }
            }
            group.cancelAll()
            return model
        }
        try Task.checkCancellation()
        return model
    }

    /// - Returns: Nil when the task was cancelled.
    private static func ask(
        _ client: HTTPDNSClient,
        _ question: HostArgument,
        _ options: HTTPDNSClient.Request.Options
    ) async -> Result<HTTPDNSResolver.Resolution, CommandFailure>? {
        do {
            return .success(
                try await client.resolve(question.host.description, port: question.port, options: options)
            )
        } catch is CancellationError {
            return nil
        } catch {
            return .failure(CommandFailure(error))
        }
    }

    /// Writes one line for each notice, where there is no table.
    private func tell(_ notices: [WatchNotice], _ terminal: WatchTerminal?) throws(CommandFailure) {
        guard terminal == nil else { return }
        for notice in notices where isJSON || isVerbose || notice.isWorthShowing {
            let line = isJSON ? notice.json().oneLine : notice.text(providerKinds: providerKinds, clock: .local)
            try console.standardOutput.write(line + "\n")
        }
    }

    private func draw(_ model: WatchModel, showsDetails: Bool, _ terminal: WatchTerminal?) throws(CommandFailure) {
        guard let terminal else { return }
        let table = WatchTable(model: model, providerKinds: providerKinds, showsDetails: showsDetails)
        let style = console.screen(for: console.standardOutput).style
        try terminal.draw { width, height in
            let keys = style.quiet(String("q quit   r refresh   d details".prefix(width)))
            return [keys] + table.lines(Screen(width: width, style: style), height: height - 1)
        }
    }
}
