// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// An HTTP-DNS provider that answers as the world draws it: in time, late, wrongly, not at all. In some worlds it is a real one
/// whose service is modeled.
// @unchecked: the schedule lets one task of the process run at a time.
final class ModelProvider: HTTPDNSProvider, @unchecked Sendable {
    let name: String
    let source: AnswerSource
    /// Whether settings contain it that are in effect, or about to be.
    var isInUse = false { didSet { wasInUse = true } }
    private(set) var wasInUse = false
    private(set) var isShutDown = false
    /// The real provider; nil where this one answers itself.
    private let real: (any HTTPDNSProvider)?

    init(_ source: AnswerSource) {
        (name, self.source) = ("\(source)", source)
        real = ModelService.provider(currentStage.world.settings.providers[source] ?? .model, source)
    }

    func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        guard let other = other as? ModelProvider, other.name == name else { return false }
        return real.flatMap { own in other.real.map(own.isEquivalent) } ?? true
    }

    var batchLimit: Int { real == nil && currentStage.world.settings.hasBatches ? 5 : 1 }

    /// The first name of a batch waits for others.
    private var longestWait: Duration { batchLimit > 1 ? .milliseconds(2) : .zero }

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        // Nothing is sent for a query that was canceled before it began.
        try Task.checkCancellation()
        received(query)
        let start = schedule.elapsed
        defer { currentStage.checkTime(of: query, to: source, since: start) }
        guard let real else { return try await answer(query) }
        let stage = currentStage
        let host = "\(query.host)"
        var isGood = false
        stage.asks(source, for: host)
        defer { stage.ends(source, for: host, isGood: isGood) }
        do {
            let answer = try await real.resolve(query)
            isGood = note(answer, to: query)
            return answer
        } catch let error as HTTPDNSProviderError {
            stage.cover("provider \(error.code)")
            failed(error)
            stage.queryFailed(host)
            throw error
        }
    }

    /// Notes a failure. Other failures than of a name count against the provider: it may be left alone for a time.
    private func failed(_ error: HTTPDNSProviderError) {
        if error.code != .serverFailure, error.code != .refused { currentStage.pauseProviders(for: .seconds(40)) }
    }

    /// Notes an answer of the real provider.
    /// - Returns: Whether it has addresses that a call may use.
    private func note(_ answer: HTTPDNSProviderAnswer, to query: HTTPDNSProviderQuery) -> Bool {
        let stage = currentStage
        let families = [answer.v4, answer.v6].compactMap { $0 }
        let host = "\(query.host)"
        var addresses: [HTTPDNSAddress] = []
        var life = Duration.seconds(3600)
        var failures = 0
        for family in families {
            switch family {
            case .addresses(let own, let timeToLive, _):
                addresses += own
                life = min(life, timeToLive)
            case .failed(let error):
                failed(error)
                failures += 1
            default: break
            }
        }
        let isGood = stage.allowsAny(addresses)
        // Records of type HTTPS may lead elsewhere.
        guard !query.wantsHTTPSRecords || answer.httpsRecords == nil else { return isGood }
        if failures == families.count { stage.queryFailed(host) }
        guard failures == 0, !addresses.isEmpty, let index = stage.number(of: host),
            addresses.allSatisfy(stage.world.names[index].addresses.contains)
        else { return isGood }
        if stage.isOnlyOne(source, askedFor: host) { stage.rests(index, addresses, of: source, lives: life) }
        return isGood
    }

    func resolve(
        _ query: HTTPDNSProviderQuery,
        batch: [HTTPDNSName]
    ) async throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        try Task.checkCancellation()
        currentStage.cover("query for a batch")
        let queries = batch.map { host in
            var query = query
            query.host = host
            return query
        }
        for query in queries { received(query) }
        var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
        let tasks = queries.map { query in Task { try await self.answer(query, isBatch: true) } }
        for (host, task) in zip(batch, tasks) { answers[host] = try? await task.value }
        return answers
    }

    private func received(_ query: HTTPDNSProviderQuery) {
        let stage = currentStage
        stage.queryCount += 1
        let host = "\(query.host)"
        if let since = stage.number(of: host).flatMap({ stage.rules.isOff($0) }) {
            stage.violate("a provider is not asked after the switch is off", "\(name) for \(host), off since \(since)")
        }
        stage.queried(host, query.families, after: longestWait)
        if isShutDown { stage.violate("a provider that is shut down is not asked", "\(name) for \(host)") }
    }

    private func answer(
        _ query: HTTPDNSProviderQuery,
        isBatch: Bool = false
    ) async throws -> HTTPDNSProviderAnswer {
        let stage = currentStage
        let host = "\(query.host)"
        var isGood = false
        stage.asks(source, for: host, after: longestWait)
        defer { stage.ends(source, for: host, isGood: isGood) }
        var draw = Draw(now: "answer \(name) \(host) \(query.families)", in: stage.seed)
        stage.note("query \(name) \(host) \(query.families)")
        if let overload = stage.world.overload, let index = stage.number(of: host) {
            stage.cover("answer under overload")
            try await Task.sleep(for: overload.service)
            let addresses = stage.world.names[index].addresses
            stage.answered(source, addresses, lives: .seconds(3600))
            return HTTPDNSProviderAnswer(addresses, timeToLive: .seconds(3600), to: query)
        }
        let isDown = World.isDown(name, in: stage.seed, at: .nanoseconds(schedule.elapsed))
        let fate = draw.below(1000)
        try await Task.sleep(
            for: draw.time(
                .microseconds(300),
                isDown ? .seconds(4) : fate < 30 ? .milliseconds(900) : .milliseconds(30)
            )
        )
        if isDown || fate < 60 {
            stage.cover("answer failed")
            stage.queryFailed(host)
            throw HTTPDNSProviderError(code: .serverFailure, message: "SERVFAIL")
        }
        guard let index = stage.world.names.firstIndex(where: { $0.host == host }) else {
            return HTTPDNSProviderAnswer(nil, timeToLive: .seconds(5), to: query)
        }
        var lives = Draw(stage.seed, "lives \(host)")
        let life: Duration = draw.pick(
            lives.happens(50)
                ? [.zero, .seconds(1), .seconds(1)] : [.seconds(20), .seconds(600), .seconds(2_147_483_648)]
        )
        if fate < 75 {
            stage.cover("answer no such name")
            let life: Duration = stage.world.isSlow ? draw.pick([.seconds(2), .seconds(600), life]) : .seconds(2)
            stage.denies(index, lives: life)
            return HTTPDNSProviderAnswer(nil, timeToLive: life, to: query)
        }
        if fate < 90 {
            stage.cover("answer empty")
            return HTTPDNSProviderAnswer([], timeToLive: life, to: query)
        }
        if fate < 110 {
            stage.cover("answer with a private address")
            // The policy refuses it, so the client counts it as a failure.
            if query.families.contains(.v4) { stage.queryFailed(host) }
            return HTTPDNSProviderAnswer([HTTPDNSAddress(v4: 10, 0, 0, UInt8(index))], timeToLive: life, to: query)
        }
        if fate < 140, query.families == .both {
            stage.cover("answer failed for one family")
            return HTTPDNSProviderAnswer(
                v4: .failed(HTTPDNSProviderError(code: .serverFailure, message: "SERVFAIL")),
                v6: .nameError(timeToLive: .seconds(2))
            )
        }
        stage.cover("answer")
        let own = stage.world.names[index].addresses
        let first = draw.below(own.count)
        let addresses = (0..<1 + draw.below(3)).map { own[(first + $0) % own.count] }
        let asked = addresses.filter { query.families.contains($0.family == .v4 ? .v4 : .v6) }
        stage.answered(source, asked, lives: life)
        // The others of a batch may come later.
        if !isBatch, stage.isOnlyOne(source, askedFor: host) { stage.rests(index, asked, of: source, lives: life) }
        isGood = stage.allowsAny(asked)
        return HTTPDNSProviderAnswer(addresses, timeToLive: life, to: query)
    }

    func shutdown() async {
        isShutDown = true
        await real?.shutdown()
        guard isInUse, currentStage.clientsInUse > 0 else { return }
        currentStage.violate("a provider is not shut down while a client uses it", name)
    }
}
