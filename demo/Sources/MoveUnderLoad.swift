internal import Foundation
internal import HTTPDNSClient
internal import ServerRig

/// One change of a mapping while requests are running over a living connection.
struct MoveUnderLoad: DemoStep {
    private let perSecond = 200
    private let before = 400
    private let after = 400
    private let first = "127.0.0.2"
    private let second = "127.0.0.3"

    func title(on stage: DemoStage) -> String {
        "Move it under load (\(perSecond) req/s, connection alive, mapping changed once through the API)"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let client = try await stage.newClient()
        let mark = stage.rig.accessLogMark()
        try client.mappings.apply { $0[DemoStage.host] = .addresses([first]) }
        let failures = try await load(client, on: stage)
        try await client.shutdown(drainingFor: .seconds(2))

        let total = before + after
        let lines = try await stage.rig.awaitAccessLog(since: mark, count: total - failures.count) {
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
        // Requests sent before the change may still have been on their way to either address; later ones may not.
        let wrong = lines.filter { line in
            (number(of: line) ?? 0) >= before ? line.address != second : ![first, second].contains(line.address)
        }
        let moved = Set(lines.filter { $0.address == second }.map(\.connection)).count
        let answered = total - failures.count
        let held = failures.isEmpty && wrong.isEmpty && lines.count == total && moved <= after / 10
        let noun = moved == 1 ? "connection" : "connections"
        screen.detail(
            "\(held ? screen.green("ok") : screen.red("x "))  \(total) sent, \(answered) answered, "
                + "\(wrong.count) on the wrong address after the change, \(moved) new \(noun)"
        )
        if let failure = failures.first { screen.detail("first failure: \(failure)") }
        return DemoOutcome(held: held, requests: total, lost: failures.count)
    }

    /// Sends the requests at their times and changes the mapping between two of them.
    private func load(_ client: HTTPDNSClient, on stage: DemoStage) async throws -> [String] {
        let start = ContinuousClock.now
        return try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<(before + after) {
                try await Task.sleep(until: start + .seconds(1) / perSecond * number, clock: .continuous)
                if number == before {
                    try client.mappings.apply { $0[DemoStage.host] = .addresses([second]) }
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
            return try await group.reduce(into: []) { failures, failure in
                if let failure { failures.append(failure) }
            }
        }
    }

    private func number(of line: AccessLogLine) -> Int? {
        let prefix = "/a.jpg?move="
        return line.target.hasPrefix(prefix) ? Int(line.target.dropFirst(prefix.count)) : nil
    }

    private func stamp(_ seconds: Double) -> String { String(format: " %.3f s", seconds) }

    /// One column per fifth of a second in which the address was asked.
    private func bar(_ times: [Double]) -> String {
        let columns = (before + after) / perSecond * 5
        let busy = Set(times.map { min(columns - 1, max(0, Int($0 * 5))) })
        return (0..<columns).map { column in
            (column == columns / 2 ? "|" : "") + (busy.contains(column) ? "#" : " ")
        }.joined()
    }
}
