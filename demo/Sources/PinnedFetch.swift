// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import ServerRig

/// The same address with the name's own Host, server name and certificate check, through the command line.
struct PinnedFetch: DemoStep {
    /// The displayed part of the output of `resolve-test fetch --json`.
    private struct Report: Decodable {
        struct Timings: Decodable {
            let resolve, connect, tls, firstByte, total: Double?
        }
        let status: Int
        let httpVersion: String
        let remoteAddress: String
        let serverName: String?
        let provider: String?
        let source: String
        let cached: Bool
        let timeToLiveSeconds: Double?
        let bodyBytes: Int
        let timings: Timings
    }

    func title(on stage: DemoStage) -> String {
        "The same address, done right:  resolve-test fetch \(stage.url("/a.jpg"))"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let mark = stage.rig.accessLogMark()
        let arguments = ["fetch", stage.url("/a.jpg"), "--json"] + stage.resolveTestFlags
        let result = try await Command(stage.resolveTest, arguments).run()
        guard result.status == 0 else {
            throw DemoError("resolve-test ended with \(result.status): \(result.error)\(result.output)")
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        show(report, port: stage.rig.tlsPort, on: screen)

        let logged = try await stage.rig.awaitAccessLog(since: mark) { $0.target == "/a.jpg" }
        let line = logged[0]
        let held =
            report.status == 200 && report.bodyBytes == 1024 && logged.count == 1 && line.sni == DemoStage.host
            && line.host == "\(DemoStage.host):\(stage.rig.tlsPort)"
            && ["127.0.0.2", "127.0.0.3"].contains(line.address)
        let proof = "origin saw  addr=\(line.address)  sni=\(line.sni)  host=\(line.host)"
        screen.detail(held ? screen.green("ok") : screen.red("x "), proof, width: 27)
        return DemoOutcome(held: held, requests: 1)
    }

    private func show(_ report: Report, port: UInt16, on screen: Screen) {
        let life = report.timeToLiveSeconds.map { ", \(Int($0.rounded(.up))) s left" } ?? ""
        let freshness = report.cached ? "cached" : "fresh"
        let certificate = "SNI \(report.serverName ?? "(none)"), certificate verified"
        let phases: [(String, Double?, String)] = [
            ("resolve", report.timings.resolve, "\(report.provider ?? report.source), \(freshness)\(life)"),
            ("connect", report.timings.connect, "\(report.remoteAddress):\(port)"),
            ("tls", report.timings.tls, certificate),
            (
                "first byte", report.timings.firstByte,
                "\(report.status), \(report.httpVersion), \(report.bodyBytes.grouped) bytes"
            ),
        ]
        let whole = phases.compactMap(\.1).reduce(0, +)
        let columns = 12.0
        var passed = 0.0
        for (name, seconds, what) in phases {
            var bar = ""
            if let seconds, whole > 0 {
                let from = min(columns - 1, (passed / whole * columns).rounded(.down))
                let length = max(1, (seconds / whole * columns).rounded())
                bar = String(repeating: " ", count: Int(from)) + String(repeating: "#", count: Int(length))
                passed += seconds
            }
            let time = seconds.map { String(format: "%6.1f ms", $0 * 1000) } ?? "        -"
            screen.detail(name.padded(to: 12) + bar.padded(to: 15) + time + "   " + what)
        }
    }
}

extension String {
    func padded(to width: Int) -> String { padding(toLength: max(width, count), withPad: " ", startingAt: 0) }
}
