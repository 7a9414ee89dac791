// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import ServerRig

/// The kill switch, turned off and on while a connection to the pinned address is open.
struct KillSwitchTurned: DemoStep {
    func title(on stage: DemoStage) -> String { "Kill switch" }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        try await stage.rig.setRecords(DemoStage.host, timeToLive: 60, ["127.0.0.2"])
        let client = try await stage.newClient()
        let pinned = try await address(of: client, stage.url("/a.jpg?switch=1"))
        client.killSwitch.turnOff()
        var off: HTTPDNSClientError?
        do {
            _ = try await client.get(stage.url("/a.jpg?switch=2"))
        } catch let error as HTTPDNSClientError {
            off = error
        }
        client.killSwitch.turnOn()
        let again = try await address(of: client, stage.url("/a.jpg?switch=3"))
        let bySystem = client.resolver.counters.switchedOff
        try await client.shutdown()
        // The system resolver does not know the name, so this failure shows that the request used the system resolver.
        let held = pinned == "127.0.0.2" && again == pinned && off?.code == .resolveFailed && bySystem == 1
        screen.detail(
            "\(held ? screen.green("ok") : screen.red("x "))  off: "
                + (off.map { "the system path (fails here: \($0.message))" } ?? "answered, which it must not be")
        )
        screen.detail("    on again: pinned to \(again ?? "-")")
        return DemoOutcome(held: held, requests: 2)
    }

    private func address(of client: HTTPDNSClient, _ url: String) async throws -> String? {
        let response = try await client.get(url)
        _ = try await response.body.collect(upTo: .mebibytes(1))
        return response.exchanges.last?.remote.address.description
    }
}
