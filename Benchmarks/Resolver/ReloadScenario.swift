// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Synchronization

/// 10,000 rules replaced by 10,000 others again and again, while another thread looks cached names up.
struct ReloadFigures: Codable, Sendable {
    var way: String
    /// Milliseconds of one replacement: the median one, and the longest.
    var p50: Double
    var longest: Double
    /// Nanoseconds of single cached look-ups meanwhile, with one reading of the clock in each: the median one, the hundredth
    /// and the thousandth from the top.
    var lookUp: Double
    var lookUpP99: Double
    var lookUpP999: Double
}

enum ReloadScenario {
    static let ruleCount = 10_000

    /// - Parameter replacements: How many are measured for each way.
    static func run(replacements: Int) async throws -> [ReloadFigures] {
        // One provider for both: what another one answered would leave the cache.
        let providers = Subjects.providerConfiguration().providers
        let settings: [HTTPDNSResolver.Configuration] = try [UInt8(1), 2].map { octet in
            var settings = try Self.settings(octet)
            settings.providers = providers
            return settings
        }
        let resolver = try HTTPDNSResolver(settings[0])
        try await Subjects.warm(resolver)
        let bases = try settings.map { try HTTPDNSResolver($0).mappings.current }
        var results = [
            await measure("no change", resolver, 0) { _ in },
            try await measure("replaceBase", resolver, replacements) {
                try resolver.mappings.replaceBase(with: bases[($0 + 1) % 2])
            },
            try await measure("Resolver.reload", resolver, replacements) {
                try resolver.reload(settings[($0 + 1) % 2])
            },
        ]
        #if YAML
        results.append(try await file(replacements))
        #endif
        return results
    }

    #if YAML
    /// From the bytes of a file to what the next question sees, as a client does it that follows its file.
    private static func file(_ replacements: Int) async throws -> ReloadFigures {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("httpdns.yaml").path
        let texts = [1, 2].map { octet in
            "version: 1\nmappings:\n"
                + (0..<ruleCount).map { "  rule\($0).bench.example: 203.0.113.\(octet)\n" }.joined()
        }
        try texts[1].write(toFile: path, atomically: true, encoding: .utf8)
        var configuration = try HTTPDNSClient.Configuration.file(path)
        configuration.watchesFile = false
        configuration.resolver.providers = Subjects.providerConfiguration().providers
        configuration.resolver.routes = Subjects.providerConfiguration().routes
        configuration.resolver.families = .v4
        let client = try await HTTPDNSClient(configuration: configuration)
        try await Subjects.warm(client.resolver)
        let result = try await measure("client.reload, file", client.resolver, replacements) { number in
            try texts[number % 2].write(toFile: path, atomically: true, encoding: .utf8)
            try await client.reload()
        }
        try await client.shutdown()
        return result
    }
    #endif

    private static func settings(_ octet: UInt8) throws -> HTTPDNSResolver.Configuration {
        var configuration = Subjects.providerConfiguration()
        let address = HTTPDNSAddress(v4: 203, 0, 113, octet)
        for number in 0..<ruleCount {
            let key = HTTPDNSMapping.Key(.exact(try HTTPDNSName("rule\(number).bench.example")))
            configuration.mappings[key] = HTTPDNSMapping(.addresses([HTTPDNSMapping.Target(address)]))
        }
        return configuration
    }

    /// - Parameter replacements: None measures look-ups alone, for a second.
    private static func measure(
        _ way: String,
        _ resolver: HTTPDNSResolver,
        _ replacements: Int,
        _ replace: (Int) async throws -> Void
    ) async rethrows -> ReloadFigures {
        let isOver = StopFlag()
        let lookUps = OneShot<[Int64]>()
        let reader = Thread {
            lookUps.deliver(Self.lookUps(resolver, until: isOver))
        }
        reader.start()
        defer { isOver.set() }
        var times: [Double] = []
        for number in 0..<replacements {
            let before = Measurement.now()
            try await replace(number)
            times.append(Double(Measurement.now() - before) / 1e6)
        }
        if replacements == 0 { try? await Task.sleep(for: .seconds(1)) }
        isOver.set()
        let sorted = await lookUps.value().sorted()
        func quantile(_ share: Double) -> Double {
            sorted.isEmpty ? .nan : Double(sorted[min(Int(share * Double(sorted.count)), sorted.count - 1)])
        }
        return ReloadFigures(
            way: way,
            p50: times.median,
            longest: times.max() ?? .nan,
            lookUp: quantile(0.5),
            lookUpP99: quantile(0.99),
            lookUpP999: quantile(0.999)
        )
    }

    private static func lookUps(_ resolver: HTTPDNSResolver, until isOver: StopFlag) -> [Int64] {
        let names = Names(.mixed, thread: 0)
        var times: [Int64] = []
        times.reserveCapacity(1 << 24)
        var call = 0
        var before = Measurement.now()
        while !isOver.isSet, times.count < 1 << 24 {
            let question = HTTPDNSResolver.Query(.name(names.hosts[names.place(of: call)]), port: 443)
            let found = try? resolver.cached(question)
            guard found != nil else {
                requireHit(false, "reload")
                break
            }
            call += 1
            let after = Measurement.now()
            times.append(after - before)
            before = after
        }
        return times
    }
}

/// Set once, from any thread.
final class StopFlag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
