// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import ServerRig

/// A first address that drops every packet: a POST goes to the second one after the race's delay, and only once.
struct SilentAddress: DemoStep {
    private let silent = "127.0.0.6"
    private let good = "127.0.0.3"
    private let next = 100

    func title(on stage: DemoStage) -> String { "First address black-holed, POST" }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let hole = try BlackHole(address: silent, port: stage.rig.tlsPort)
        defer { withExtendedLifetime(hole) {} }
        let client = try await stage.newClient()
        let mark = stage.rig.accessLogMark()
        // A mapping keeps this order; the order of an answer is the provider's.
        try client.mappings.apply { $0[DemoStage.host] = .addresses([silent, good]) }
        let begun = ContinuousClock.now
        let response = try await client.post(stage.url("/upload?silent"), body: .bytes(Array("once".utf8)))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        let elapsed = ContinuousClock.now - begun
        let isSuspect = client.endpointRecords.contains {
            $0.endpoint.address.description == silent && $0.state != .healthy
        }
        let posts = try await stage.rig.awaitAccessLog(since: mark) { $0.target == "/upload?silent" }
        screen.detail(
            "\(silent)  no answer after 250 ms -> \(good)  \(response.status.code) in "
                + "\(milliseconds(elapsed))   origin counted \(posts.count) POST"
        )
        var times: [Duration] = []
        var lost = 0
        for number in 0..<next {
            let started = ContinuousClock.now
            let later = try await client.get(stage.url("/a.jpg?silent=\(number)"))
            if try await later.body.collect(upTo: .mebibytes(1)).count != 1024 { lost += 1 }
            times.append(.now - started)
        }
        try await client.shutdown()
        let held =
            isSuspect && response.status.code == 200 && posts.count == 1 && posts.allSatisfy { $0.address == good }
            && lost == 0
            // A request that waited for the silent address would take the race's 250 ms, whatever other load the machine has.
            && times.sorted()[next / 2] < .milliseconds(125)
        screen.detail(
            "\(held ? screen.green("ok") : screen.red("x "))  next \(next) requests: half of them within \(milliseconds(times.sorted()[next / 2])), "
                + "all within \(milliseconds(times.max() ?? .zero))"
        )
        return DemoOutcome(held: held, requests: next + 1, lost: lost)
    }

    private func milliseconds(_ duration: Duration) -> String { String(format: "%.1f ms", duration / .milliseconds(1)) }
}
