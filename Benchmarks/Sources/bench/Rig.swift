// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// Runs contenders against the origins.
struct Rig {
    let origin: Origin
    /// The same server on no particular core, for scenarios that do not separate cores.
    let unpinnedOrigin: Origin
    let cores: Cores
    let programs: Programs

    /// Runs all contenders of all scenarios `rounds` times, after one round that does not count.
    ///
    /// Each round has all scenarios, and the contenders of each in a random order, so that other work of the machine affects
    /// a round of all of them and not one scenario.
    /// - Parameter report: Called with the number of each round that begins.
    func measure(
        _ scenarios: [Scenario],
        rounds: Int,
        run: RunIdentity.ID,
        report: (Int) -> Void
    ) throws -> [ScenarioResult] {
        var results = scenarios.map { ScenarioResult(run: run, scenario: $0) }
        for round in 0...rounds {
            report(round)
            for place in results.indices {
                let scenario = results[place].scenario
                for contender in scenario.contenders.filter(programs.has).shuffled() {
                    let sample: Sample
                    do {
                        sample = try self.run(contender, scenario)
                    } catch  where round == 0 && contender.build == .before {
                        // Another checkout may not know what a later scenario asks for.
                        print("\(scenario.name) is left out: \(contender.name): \(error)")
                        results[place].scenario.contenders = []
                        break
                    }
                    if round > 0 { results[place].samples[contender, default: Samples()].append(sample) }
                }
            }
        }
        return results.filter { !$0.scenario.contenders.isEmpty }
    }

    /// Runs a command with the time in its arguments. The shell reads the clock and forks, so that the CPU time begins there too.
    private static let stamp = ["/bin/bash", "-c", #""$@" --started "${EPOCHREALTIME/,/.}"; exit $?"#, "bash"]

    private func run(_ contender: Contender, _ scenario: Scenario) throws -> Sample {
        let cores = scenario.separatesCores ? cores : cores.unpinned
        let origin = scenario.separatesCores ? origin : unpinnedOrigin
        let host = contender.needsAddress ? Origin.addresses[0] : Origin.host
        let requests = max(1, Int(Double(scenario.requests) * contender.share))
        guard let program = programs.path(of: contender) else { throw BenchError("there is no \(contender.name)") }
        let lateOrigin =
            scenario.delay > 0 ? try SlowOrigin(delay: scenario.delay, on: cores, core: cores.origin) : nil
        let url = lateOrigin?.url(host) ?? origin.url(scenario.wire, host, scenario.resource)
        let addresses = lateOrigin == nil ? Origin.addresses : [SlowOrigin.address]
        var command = [program]
        command += ["--url", url, "--host", Origin.host, "--addresses", addresses.joined(separator: ",")]
        command += ["--in-flight", "\(scenario.inFlight)", "--requests", "\(requests)"]
        // A tenth, so that connections are open, pools are filled and the allocator has its pages.
        let warmUp = scenario.measuresStart ? 0 : max(1, requests / 10)
        command += ["--warm-up", "\(warmUp)", "--body-bytes", "\(scenario.resource.bytes)"]
        command += ["--http-version", scenario.wire == .http2TLS ? "2" : "1.1"]
        if ![.http1, .http1Closing].contains(scenario.wire) { command += ["--cacert", origin.certificateFile] }
        let saved = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-saved-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: saved) }
        switch scenario.reading {
        case .collected: break
        case .byChunks: command += ["--discard", "1"]
        case .saved: command += ["--save", saved.path]
        }
        if scenario.bodyBytes > 0 { command += ["--post", "\(scenario.bodyBytes)"] }
        switch scenario.sending {
        case .bytes: break
        case .file: command += ["--upload-file", origin.path(of: .large)]
        case .stream: command += ["--upload-stream", "1"]
        }
        command += contender.orders
        if contender.readsFile { command += ["--settings", origin.settingsFile] }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-cache-\(UUID().uuidString)")
        defer { if contender.cache == .folder { try? FileManager.default.removeItem(at: folder) } }
        switch contender.cache {
        case .none: break
        case .memory: command += ["--cache", "memory"]
        case .folder: command += ["--cache", folder.path]
        }
        // One for each run: what a run leaves there stays, because its connections are never accepted.
        let silentOrigin = contender.silent > 0 ? try SilentOrigin() : nil
        if let silentOrigin {
            command += ["--silent", "\(contender.silent)", "--silent-url", silentOrigin.url]
        }
        let slowOrigin =
            contender.slow > 0 ? try SlowOrigin(delay: contender.slowDelay, on: cores, core: cores.origin) : nil
        if let slowOrigin { command += ["--slow", "\(contender.slow)", "--slow-url", slowOrigin.url()] }
        defer { withExtendedLifetime((silentOrigin, slowOrigin, lateOrigin)) {} }
        // A contender that hangs would hang the run; it ends with 124 then.
        let limited = ["/usr/bin/timeout", "300"] + (scenario.measuresStart ? Self.stamp : []) + command
        let output = try Child.run(cores.bind(limited, to: cores.contender))
        do {
            var sample = try JSONDecoder().decode(Sample.self, from: output)
            if scenario.measuresStart { (sample.p50, sample.p99) = (sample.seconds * 1e6, nil) }
            return sample
        } catch {
            throw BenchError("\(contender.executable) reported no figures: \(String(decoding: output, as: UTF8.self))")
        }
    }
}

/// The executables of the contenders.
struct Programs {
    /// The folder of the contenders with the Swift runtime linked into them; nil when they were not built.
    var staticFolder: URL?
    /// The program that `go build` made; nil without Go.
    var go: URL?
    /// The folder of this project's contenders from another checkout; nil without one.
    var beforeFolder: URL?

    func has(_ contender: Contender) -> Bool { path(of: contender) != nil }

    /// The path of a contender's program; nil when it is not there.
    func path(of contender: Contender) -> String? {
        let path: URL? =
            switch contender.build {
            case .ordinary:
                OwnProcess.executable.deletingLastPathComponent().appendingPathComponent(contender.executable)
            case .staticRuntime: staticFolder?.appendingPathComponent(contender.executable)
            case .go: go
            case .before: beforeFolder?.appendingPathComponent(contender.executable)
            }
        guard let path = path?.path, FileManager.default.isExecutableFile(atPath: path) else { return nil }
        return path
    }

    /// The reason why a contender is left out, for tables; nil when it is not.
    func absence(of contender: Contender) -> String? {
        guard !has(contender) else { return nil }
        switch contender.build {
        case .ordinary: return "not built"
        case .staticRuntime: return "not built, see Benchmarks/run"
        case .go: return "not installed, see --peers"
        case .before: return "not built, see --before"
        }
    }
}
