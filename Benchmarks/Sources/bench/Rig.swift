// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// Runs contenders against the origin.
struct Rig {
    let origin: Origin
    let cores: Cores

    /// Runs all contenders of a scenario `rounds` times, in another order each time, after one round that does not count.
    func measure(_ scenario: Scenario, rounds: Int) throws -> ScenarioResult {
        var samples: [Contender: Samples] = [:]
        for round in 0...rounds {
            for contender in scenario.contenders.shuffled() {
                let sample = try run(contender, scenario)
                if round > 0 { samples[contender, default: Samples()].append(sample) }
            }
        }
        return ScenarioResult(scenario: scenario, samples: samples)
    }

    private func run(_ contender: Contender, _ scenario: Scenario) throws -> Sample {
        let host = contender.needsAddress ? Origin.addresses[0] : Origin.host
        let requests = max(1, Int(Double(scenario.requests) * contender.share))
        var command = [executable(contender)]
        command += ["--url", origin.url(scenario.wire, host, scenario.resource), "--host", Origin.host]
        command += ["--addresses", Origin.addresses.joined(separator: ",")]
        command += ["--in-flight", "\(scenario.inFlight)", "--requests", "\(requests)"]
        // A tenth, so that connections stand, pools are filled and the allocator has its pages.
        command += ["--warm-up", "\(max(1, requests / 10))", "--body-bytes", "\(scenario.resource.bytes)"]
        if scenario.resource == .large { command += ["--discard", "1"] }
        // One for each run: what a run leaves there stays, because nobody accepts it.
        let silentOrigin = contender.silent > 0 ? try SilentOrigin() : nil
        defer { withExtendedLifetime(silentOrigin) {} }
        if let silentOrigin {
            command += ["--silent", "\(contender.silent)", "--silent-url", silentOrigin.url]
        }
        if contender.isOnLoop { command += ["--on-loop", "1"] }
        command += ["--http-version", scenario.wire == .http2TLS ? "2" : "1.1"]
        if scenario.wire != .http1 { command += ["--cacert", origin.certificateFile] }
        if contender.otherNames > 0 { command += ["--other-names", "\(contender.otherNames)"] }
        let output = try Child.run(cores.bind(command, to: cores.contender))
        do {
            return try JSONDecoder().decode(Sample.self, from: output)
        } catch {
            throw BenchError("\(contender.executable) reported no figures: \(String(decoding: output, as: UTF8.self))")
        }
    }

    private func executable(_ contender: Contender) -> String {
        let runner = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return runner.deletingLastPathComponent().appendingPathComponent(contender.executable).path
    }
}
