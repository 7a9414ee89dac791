// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import ServerRig

/// An edit of the configuration file while requests are running over an open connection.
struct MoveUnderLoad: DemoStep {
    private let perSecond = 200
    private let before = 400
    private let after = 400
    private let first = "127.0.0.2"
    private let second = "127.0.0.3"

    /// The results of a client whose mapping was moved.
    private struct Load: Sendable {
        /// The numbers of the requests that were sent after the edit took effect.
        var moved: Set<Int> = []
        var failures: [String] = []
        /// The time from writing the file until requests used it.
        var delay: Duration?
    }

    func title(on stage: DemoStage) -> String {
        "Move it under load (\(perSecond) req/s, connection alive, mapping file edited once)"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let file = try stage.write(settings(first), to: "moving.yaml")
        let client = try await stage.newClient(file: file)
        let mark = stage.rig.accessLogMark()
        let load = try await load(client, on: stage)
        try await client.shutdown(drainingFor: .seconds(2))

        let total = before + after
        let lines = try await stage.rig.awaitAccessLog(since: mark, count: total - load.failures.count) {
            number(of: $0) != nil
        }
        let begin = lines.map(\.started).min() ?? 0
        for address in [first, second] {
            let there = lines.filter { $0.address == address }.map { $0.started - begin }.sorted()
            let edge =
                address == first
                ? there.last.map { "last one at" + stamp($0) } : there.first.map { "first one at" + stamp($0) }
            screen.detail("\(address) \(bar(there))   \(there.count) requests   \(edge ?? "")")
        }
        // Requests sent while the edit was being read may go to either address; later ones may not.
        let wrong = lines.filter { line in
            number(of: line).map { load.moved.contains($0) } ?? false
                ? line.address != second : ![first, second].contains(line.address)
        }
        let moved = Set(lines.filter { $0.address == second }.map(\.connection)).count
        let answered = total - load.failures.count
        let held =
            load.failures.isEmpty && wrong.isEmpty && lines.count == total && moved <= after / 10
            && load.moved.count > after / 2
        let noun = moved == 1 ? "connection" : "connections"
        screen.detail(
            "\(held ? screen.green("ok") : screen.red("x "))  \(total) sent, \(answered) answered, "
                + "\(wrong.count) on the wrong address after the edit, \(moved) new \(noun), "
                + "edit in use after \(load.delay.map { String(format: "%.0f ms", $0 / .milliseconds(1)) } ?? "-")"
        )
        if let failure = load.failures.first { screen.detail("first failure: \(failure)") }
        return DemoOutcome(held: held, requests: total, lost: load.failures.count)
    }

    private func settings(_ address: String) -> String {
        "version: 1\nmappings:\n  \(DemoStage.host): \(address)\n"
    }

    /// Sends the requests at their times, and edits the file between two of them.
    private func load(_ client: HTTPDNSClient, on stage: DemoStage) async throws -> Load {
        let start = ContinuousClock.now
        let generation = client.mappings.current.generation
        var load = Load()
        var edited: ContinuousClock.Instant?
        return try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<(before + after) {
                try await Task.sleep(until: start + .seconds(1) / perSecond * number, clock: .continuous)
                if number == before {
                    _ = try stage.write(settings(second), to: "moving.yaml")
                    edited = .now
                }
                if let edited, client.mappings.current.generation > generation {
                    if load.delay == nil { load.delay = .now - edited }
                    load.moved.insert(number)
                }
                let url = stage.url("/a.jpg?move=\(number)")
                group.addTask {
                    do {
                        let response = try await client.get(url)
                        let body = try await response.body.collect(upTo: .mebibytes(1))
                        return response.status == .ok && body.count == 1024
                            ? nil : "\(response.status), \(body.count) bytes"
                    } catch {
                        return "\(error)"
                    }
                }
            }
            for try await failure in group where failure != nil { load.failures.append(failure ?? "") }
            return load
        }
    }

    private func number(of line: AccessLogLine) -> Int? {
        let prefix = "/a.jpg?move="
        return line.target.hasPrefix(prefix) ? Int(line.target.dropFirst(prefix.count)) : nil
    }

    private func stamp(_ seconds: Double) -> String { String(format: " %.3f s", seconds) }

    /// Returns a bar with one column per fifth of a second in which the address got requests.
    private func bar(_ times: [Double]) -> String {
        let columns = (before + after) / perSecond * 5
        let busy = Set(times.map { min(columns - 1, max(0, Int($0 * 5))) })
        return (0..<columns).map { column in
            (column == columns / 2 ? "|" : "") + (busy.contains(column) ? "#" : " ")
        }.joined()
    }
}
