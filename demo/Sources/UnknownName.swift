// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import ServerRig

/// A name that the provider knows, but the system resolver does not.
struct UnknownName: DemoStep {
    func title(on stage: DemoStage) -> String { "The name exists only in HTTP-DNS" }

    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome {
        // Offline, the system's name servers do not respond; this shortens the wait.
        let patience = ["RES_OPTIONS": "timeout:1 attempts:1"]
        let system = try await Command("getent", ["ahosts", DemoStage.host], environment: patience).run()
        let answers = system.output.split(separator: "\n").compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        screen.detail(
            "getent ahosts \(DemoStage.host)",
            answers.isEmpty
                ? "not found" : "\(Set(answers).sorted().joined(separator: " "))  (your DNS makes up answers)"
        )

        let client = try await stage.newClient()
        let resolution = try await client.resolve(DemoStage.host, port: stage.rig.tlsPort)
        try await client.shutdown()
        let addresses = resolution.endpoints.map(\.address.description)
        let lifetime = resolution.timeToLive.map { "TTL \(Int(($0 / .seconds(1)).rounded(.up))) s" } ?? "no expiry"
        screen.detail("HTTP-DNS", "\(addresses.joined(separator: " "))   \(lifetime)")

        let expected: Set = ["127.0.0.2", "127.0.0.3"]
        return DemoOutcome(
            held: Set(addresses) == expected && resolution.source == .provider && expected.isDisjoint(with: answers)
        )
    }
}
