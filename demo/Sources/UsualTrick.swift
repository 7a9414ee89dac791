// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import ServerRig

/// An address in an https URL: no server name is sent, and the certificate cannot match.
struct UsualTrick: DemoStep {
    private func url(on stage: DemoStage) -> String { "https://127.0.0.2:\(stage.rig.tlsPort)/a.jpg" }

    func title(on stage: DemoStage) -> String {
        "The usual trick breaks:  curl -H 'Host: \(DemoStage.host)' \(url(on: stage))"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let result = try await Command(
            "curl",
            ["-sS", "--cacert", stage.rig.certificateAuthorityFile, "-H", "Host: \(DemoStage.host)", url(on: stage)]
        ).run()
        // The origin logs the name of each handshake without one of its own.
        let log = try stage.rig.originErrorLog()
        let handshake = log.split(separator: "\n").last { $0.contains("handshake addr=127.0.0.2") }
        let name = handshake?.firstRange(of: "sni=").map { log[$0.upperBound...].prefix { $0 != "," } } ?? "?"
        // 60: the peer's certificate was refused (libcurl's CURLE_PEER_FAILED_VERIFICATION).
        let refused = result.status == 60
        let seen =
            refused ? "certificate does not match 127.0.0.2" : "curl ended with \(result.status): \(result.error)"
        screen.detail("\(screen.red("x"))  \(seen)            origin saw  sni=\(name)")
        return DemoOutcome(held: refused && name == "(none)")
    }
}
