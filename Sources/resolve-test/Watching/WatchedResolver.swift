// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// A resolver of the program's own: it resolves each host at an interval, and its events are reported in between.
struct WatchedResolver: WatchSource {
    private enum Step: Sendable {
        /// The events are listened to: from now on none is missed.
        case listening
        case ask
        /// The query for the host at the index has ended.
        case answered(Int)
    }

    let client: HTTPDNSClient
    let change: HTTPDNSClient.Request.Options.Change?
    let questions: [HostArgument]
    let interval: Duration
    private let steps = AsyncStream<Step>.makeStream()

    init(
        client: HTTPDNSClient,
        change: HTTPDNSClient.Request.Options.Change?,
        questions: [HostArgument],
        interval: Duration
    ) {
        (self.client, self.change, self.questions, self.interval) = (client, change, questions, interval)
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
                            let question = questions[index]
                            let outcome = try? await client.outcome(of: question.host.queryText, question.port, change)
                            guard let outcome else { return }
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

    func refresh() async {
        client.resolver.removeAllCached()
        steps.continuation.yield(.ask)
    }

    func update(_ model: inout WatchModel) {
        model.status = client.status(limit: 0)
    }
}
#endif
