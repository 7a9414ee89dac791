// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import ServerRig

/// An unchanged program of the machine whose names are resolved here.
struct CommandRun: DemoStep {
    func title(on stage: DemoStage) -> String {
        "An unchanged curl:  resolve-test run --config demo/httpdns.yaml -- curl \(stage.url("/a.jpg"))"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        let mark = stage.rig.accessLogMark()
        var command = Command(
            stage.resolveTest,
            ["run", "--config", "demo/httpdns.yaml", "--", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"]
                + [stage.url("/a.jpg")]
        )
        // As a machine that trusts the company's authority has it.
        command.environment = ["CURL_CA_BUNDLE": stage.rig.certificateAuthorityFile]
        let result = try await command.run()
        guard result.status == 0 else { throw DemoError("curl ended with \(result.status): \(result.error)") }
        let logged = try await stage.rig.awaitAccessLog(since: mark) { $0.target == "/a.jpg" }
        let line = logged[0]
        screen.detail("curl", "\(result.output), certificate verified")
        let held =
            result.output == "200" && logged.count == 1 && line.sni == DemoStage.host
            && line.host == "\(DemoStage.host):\(stage.rig.tlsPort)" && line.address == "127.0.0.2"
        let proof = "origin saw  addr=\(line.address)  sni=\(line.sni)  host=\(line.host)"
        screen.detail(held ? screen.green("ok") : screen.red("x "), proof, width: 27)
        return DemoOutcome(held: held, requests: 1)
    }
}
