// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import ServerRig

/// A provider that returns the address of another owner's server: the certificate check stops the request.
struct LyingProvider: DemoStep {
    private let stranger = "127.0.0.5"

    func title(on stage: DemoStage) -> String {
        "Provider lies: points \(DemoStage.host) at another owner's server (\(stranger))"
    }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        try await stage.rig.setRecords(DemoStage.host, timeToLive: 5, [stranger])
        let client = try await stage.newClient()
        let mark = stage.rig.accessLogMark()
        var failure: HTTPDNSClientError?
        do {
            let response = try await client.get(stage.url("/a.jpg?lie"))
            screen.detail("\(screen.red("x"))  answered with \(response.status) by \(response.destination)")
        } catch let error as HTTPDNSClientError {
            failure = error
        }
        try await client.shutdown()
        guard let failure else { return DemoOutcome(held: false, requests: 1) }

        // A request that reached the server would be logged before a later one is.
        let witness = try await Command("curl", ["-sS", "http://\(stranger):\(stage.rig.httpPort)/health?witness"])
            .run()
        guard witness.status == 0 else { throw DemoError("the stranger's server does not answer: \(witness.error)") }
        let lines = try await stage.rig.awaitAccessLog(since: mark) { $0.target == "/health?witness" }
        let arrived = try stage.rig.accessLog(since: mark).filter { $0.target == "/a.jpg?lie" }
        let shown = try stage.rig.originErrorLog().contains("handshake addr=\(stranger) sni=\(DemoStage.host)")
        let sent = arrived.map(\.received).reduce(0, +)
        let reason = failure.attempts.last.map { "\($0)" } ?? failure.message
        screen.detail("\(screen.green("x"))  refused: \(reason)")
        screen.detail(
            "   request bytes that arrived there: \(sent)   may have been sent: \(failure.requestMayHaveBeenSent ? "yes" : "no")"
        )
        return DemoOutcome(
            held: lines.count == 1 && arrived.isEmpty && shown && !failure.requestMayHaveBeenSent
                && failure.code == .certificateRefused
        )
    }
}
