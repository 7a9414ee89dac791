// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A resolver of the program's own: it resolves each host at an interval, and its events are reported in between.
struct WatchedResolver: WatchSource {
    private enum Step: Sendable {
        /// The events are listened to: from now on none is missed.
        case listening
        case ask
        /// The query for the host at the index has ended.
        case answered(Int)
    }

    private let client: HTTPDNSClient
    private let change: HTTPDNSClient.Request.Options.Change?
    private let questions: [HostArgument]
    private let interval: Duration
    private let steps = AsyncStream<Step>.makeStream()

    init(
        client: HTTPDNSClient,
        change: HTTPDNSClient.Request.Options.Change?,
        questions: [HostArgument],
        interval: Duration
    ) {
        self.client = client
        self.change = change
        self.questions = questions
        self.interval = interval
    }

    func follow(_ report: @escaping @Sendable (WatchChange) -> Void) async throws {
        let next = steps.continuation
        await withDiscardingTaskGroup { group in
            group.addTask {
                var events = client.resolver.events.makeAsyncIterator()
                next.yield(.listening)
                while let event = await events.next() { report(.event(event)) }
            }
            var asked: Set<Int> = []
            for await step in steps.stream {
                switch step {
                case .listening:
                    group.addTask {
                        repeat { next.yield(.ask) } while (try? await Task.sleep(for: interval)) != nil
                    }
                case .ask:
                    // One query for a host at a time: no answer overtakes a newer one.
                    for index in questions.indices where asked.insert(index).inserted {
                        group.addTask {
                            guard let outcome = await ask(questions[index]) else { return }
                            report(.answer(index, outcome))
                            next.yield(.answered(index))
                        }
                    }
                    report(.asked)
                case .answered(let index):
                    asked.remove(index)
                }
            }
            group.cancelAll()
        }
    }

    /// - Returns: Nil when the task was canceled.
    private func ask(_ question: HostArgument) async -> Result<HTTPDNSResolver.Resolution, CommandFailure>? {
        do {
            return .success(
                try await client.resolve(question.host.queryText, port: question.port, change)
            )
        } catch is CancellationError {
            return nil
        } catch {
            return .failure(CommandFailure(error))
        }
    }

    func refresh() async {
        client.resolver.removeAllCached()
        steps.continuation.yield(.ask)
    }

    func update(_ model: inout WatchModel) {
        model.take(client.resolver.providerHealth, client.resolver.counters, at: SystemTimeSource().now())
    }
}
