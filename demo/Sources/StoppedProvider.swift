// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import ServerRig

/// A provider that stops responding for longer than answers live, while requests are running, and returns.
struct StoppedProvider: DemoStep {
    private let perSecond = 200
    private let timeToLive = Duration.seconds(1)
    private let before = Duration.seconds(1)
    private let stopped = Duration.seconds(3)
    /// Longer than the back-off of a provider after so short a failure: 1 s, then 2 s, and a small random part.
    private let after = Duration.seconds(4)
    /// The duration of one column of the bars.
    private let column = Duration.milliseconds(200)

    /// One request: the times at which it was sent and answered, and its response's information about its address.
    private struct Sample: Sendable {
        var sent: ContinuousClock.Instant
        var answered: ContinuousClock.Instant
        var isStale: Bool
        var failure: String?
    }

    /// The whole load, in the order in which it was sent.
    private struct Load: Sendable {
        var samples: [Sample] = []
        var start: ContinuousClock.Instant
        var held: ContinuousClock.Instant
        var released: ContinuousClock.Instant
    }

    func title(on stage: DemoStage) -> String {
        "Provider stopped for \(stopped.inWholeSeconds) (TTL \(timeToLive.inWholeSeconds)), \(perSecond) req/s"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        try await stage.rig.setRecords(DemoStage.host, timeToLive: 1, ["127.0.0.2", "127.0.0.3"])
        let client = try await stage.newClient()
        // The later steps need the provider in any case.
        defer { stage.rig.resumeBind() }
        let load = try await load(client, on: stage)
        try await client.shutdown(drainingFor: .seconds(2))

        let samples = load.samples
        let failures = samples.compactMap(\.failure)
        let fresh = samples.filter { $0.failure == nil && !$0.isStale }
        let stale = samples.filter { $0.failure == nil && $0.isStale }
        // From a whole time to live after the provider's stop until its return, no fresh answer is possible.
        let unflagged = fresh.filter { $0.sent > load.held + timeToLive && $0.answered < load.released }
        let isFreshAgain = samples.last.map { $0.failure == nil && !$0.isStale } ?? false
        let held = failures.isEmpty && !stale.isEmpty && unflagged.isEmpty && isFreshAgain
        screen.detail("fresh \(bar(fresh, of: load))   \(fresh.count) requests")
        screen.detail("stale \(bar(stale, of: load))   \(stale.count) requests")
        let flags = unflagged.isEmpty ? "every stale answer flagged" : "\(unflagged.count) stale answers not flagged"
        screen.detail(
            "\(held ? screen.green("ok") : screen.red("x "))  \(samples.count) sent, failed \(failures.count), \(flags)"
                + (isFreshAgain ? ", fresh again at the end" : ", still stale at the end")
        )
        if let failure = failures.first { screen.detail("first failure: \(failure)") }
        return DemoOutcome(held: held, requests: samples.count, lost: failures.count)
    }

    /// Sends the requests at their times; between two of them the provider is stopped, and started again.
    private func load(_ client: HTTPDNSClient, on stage: DemoStage) async throws -> Load {
        let start = ContinuousClock.now
        let spacing = Duration.seconds(1) / perSecond
        return try await withThrowingTaskGroup(of: Sample.self) { group in
            var load = Load(start: start, held: start, released: start)
            for number in 0..<Int((before + stopped + after) / spacing) {
                try await Task.sleep(until: start + spacing * number, clock: .continuous)
                if number == Int(before / spacing) {
                    stage.rig.holdBind()
                    load.held = .now
                }
                if number == Int((before + stopped) / spacing) {
                    load.released = .now
                    stage.rig.resumeBind()
                }
                let url = stage.url("/a.jpg?stop=\(number)")
                let sent = ContinuousClock.now
                group.addTask {
                    do {
                        let response = try await client.get(url)
                        let body = try await response.body.collect(upTo: .mebibytes(1))
                        let isWhole = response.status == .ok && body.count == 1024
                        return Sample(
                            sent: sent,
                            answered: .now,
                            isStale: response.exchanges.last?.request.resolution.isStale ?? false,
                            failure: isWhole ? nil : "\(response.status), \(body.count) bytes"
                        )
                    } catch {
                        return Sample(sent: sent, answered: .now, isStale: false, failure: "\(error)")
                    }
                }
            }
            load.samples = try await group.reduce(into: []) { $0.append($1) }.sorted { $0.sent < $1.sent }
            return load
        }
    }

    /// Returns a bar with one column for each fifth of a second, marked where such a request was sent.
    private func bar(_ samples: [Sample], of load: Load) -> String {
        let columns = Int((before + stopped + after) / column)
        let busy = Set(samples.map { min(columns - 1, Int(($0.sent - load.start) / column)) })
        return (0..<columns).map { busy.contains($0) ? "#" : "." }.joined()
    }
}

extension Duration {
    /// The duration in whole seconds, such as `3 s`.
    fileprivate var inWholeSeconds: String { "\(components.seconds) s" }
}
