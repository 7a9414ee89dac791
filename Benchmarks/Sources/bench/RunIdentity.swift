// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// One run and the machine it ran on: figures of two runs are never compared.
struct RunIdentity: Codable {
    typealias ID = String

    var id: ID = UUID().uuidString
    var startedAt = RunIdentity.timestamp()
    var endedAt: String?
    /// The revision of the sources; nil outside a repository.
    var revision: String?
    var arguments = Array(CommandLine.arguments.dropFirst())
    var rounds: Int
    var placement: String
    var processor: String
    var kernel: String
    /// The frequency governor, `none` where the system has no choice, as in most virtual machines.
    var governor: String
    /// The load averages of 1, 5 and 15 minutes, before the first contender and after the last one. The latter has the
    /// run's own processes in it, busy ones included.
    var loadAtStart: String
    var loadAtEnd: String?
    /// The share of the processors' time that the hypervisor gave to others during the run.
    var stealShare: Double?

    private var ticksAtStart: ProcessorTicks?

    private enum CodingKeys: String, CodingKey {
        case id, startedAt, endedAt, revision, arguments, rounds, placement, processor, kernel, governor
        case loadAtStart, loadAtEnd, stealShare
    }

    /// The identity of a run that starts now.
    init(rounds: Int, cores: Cores) {
        self.rounds = rounds
        placement =
            cores.arePinned
            ? "nginx on core \(cores.origin), contenders on core \(cores.contender)"
            : "cores not separated: expect scatter"
        revision = (try? Child.run(["/usr/bin/git", "describe", "--always", "--dirty"])).map(RunIdentity.line)
        let processors = RunIdentity.file("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }
        let count = ProcessInfo.processInfo.processorCount
        processor =
            (processors?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown")
            + ", \(count) cores"
        kernel = RunIdentity.line(Data(RunIdentity.file("/proc/sys/kernel/osrelease").utf8))
        let governors = RunIdentity.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        governor = governors.isEmpty ? "none" : RunIdentity.line(Data(governors.utf8))
        loadAtStart = RunIdentity.load()
        ticksAtStart = ProcessorTicks.now()
    }

    /// Adds what is known at the end of the run.
    mutating func end() {
        endedAt = RunIdentity.timestamp()
        loadAtEnd = RunIdentity.load()
        if let start = ticksAtStart, let end = ProcessorTicks.now() { stealShare = end.stealShare(since: start) }
    }

    /// The lines above the tables.
    var text: String {
        let steal = stealShare.map { String(format: "%.1f %%", $0 * 100) } ?? "unknown"
        return """
            run \(id) of \(startedAt)\(revision.map { ", sources \($0)" } ?? "")
            processor \(processor); kernel \(kernel); governor \(governor)
            load average \(loadAtStart) at the begin, \(loadAtEnd ?? "unknown") at the end; steal time \(steal)
            \(placement); \(rounds) rounds; bench \(arguments.joined(separator: " "))
            """
    }

    private static func timestamp() -> String { ISO8601DateFormatter().string(from: Date()) }

    private static func load() -> String {
        file("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " ")
    }

    private static func file(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    private static func line(_ data: Data) -> String {
        String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// The time of all processors since the system started, in ticks.
private struct ProcessorTicks {
    var all: UInt64
    var stolen: UInt64

    static func now() -> ProcessorTicks? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let line = text.split(separator: "\n").first, line.hasPrefix("cpu ")
        else { return nil }
        // user nice system idle iowait irq softirq steal; the guest columns after them are in user and nice already.
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { UInt64($0) }
        guard ticks.count == 8 else { return nil }
        return ProcessorTicks(all: ticks.reduce(0, +), stolen: ticks[7])
    }

    func stealShare(since start: ProcessorTicks) -> Double {
        all > start.all ? Double(stolen - start.stolen) / Double(all - start.all) : 0
    }
}
