// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The figures of one contender under one load: medians over the rounds.
struct ContenderResult: Codable, Sendable {
    var scenario: String
    var contender: String
    var names: String
    var threads: Int
    /// Nanoseconds per call in the median batch and in the hundredth from the top.
    var p50: Double
    var p99: Double
    /// Calls of all threads together in a second.
    var callsPerSecond: Double
    var allocationsPerCall: Double

    init(
        _ scenario: Scenario,
        _ contender: Contender,
        _ choice: Names.Choice,
        threads: Int,
        samples: [Sample],
        _ allocations: Double
    ) {
        self.scenario = scenario.name
        self.contender = contender.name
        names = choice.rawValue
        self.threads = threads
        p50 = samples.map { $0.quantile(0.5) }.median
        p99 = samples.map { $0.quantile(0.99) }.median
        callsPerSecond = samples.map(\.callsPerSecond).median
        allocationsPerCall = allocations
    }
}

/// All figures of a run.
struct Figures: Codable, Sendable {
    var results: [ContenderResult] = []
    var memory: [MemoryResult] = []
    var reload: [ReloadFigures] = []
    var decoding: [DecodingFigures] = []
    var cold: ColdFigures?
    var nameServer: NameServerFigures?
    #if YAML
    var followedFile: FollowedFileFigures?
    #endif

    func result(_ scenario: String, _ contender: String, _ names: Names.Choice, threads: Int) -> ContenderResult? {
        results.first {
            $0.scenario == scenario && $0.contender == contender && $0.names == names.rawValue && $0.threads == threads
        }
    }
}

extension [Double] {
    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}
