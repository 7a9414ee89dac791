// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig

@testable import HTTPDNSCore

/// A team of scripted providers on one hand-driven clock.
struct PoolFixture {
    let time = HTTPDNSManualClock()
    let providers: [HTTPDNSScriptedProvider]
    let pool: ProviderPool
    private let journal: Journal<AttemptReport>

    init(
        _ names: [String] = ["ali", "backup"],
        limits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:],
        ignoresCancellation: Bool = false,
        batchLimit: Int = 1,
        ticket: UInt64 = 0
    ) {
        let time = time
        let journal = Journal<AttemptReport>()
        providers = names.map {
            HTTPDNSScriptedProvider(
                name: $0,
                ignoresCancellation: ignoresCancellation,
                batchLimit: batchLimit,
                clock: time
            )
        }
        pool = ProviderPool(
            providers.map { ProviderLease($0) },
            limits: limits,
            hedgeAfter: .milliseconds(50),
            attemptLimit: .seconds(1),
            timeSource: time,
            random: { min(ticket, $0 - 1) },
            onAttempt: { journal.write($0) }
        )
        self.journal = journal
    }

    var reports: [AttemptReport] { journal.all }

    func say(_ script: HTTPDNSScriptedProvider.Script?, about host: String = "img.test", at index: Int) throws {
        try providers[index].answer(script, for: HTTPDNSName(host))
    }

    func poolAttempt(
        _ host: String = "img.test",
        secondOpinion: Bool = false,
        limit: Duration = .seconds(3)
    ) throws -> ProviderPool.PoolAttempt {
        ProviderPool.PoolAttempt(
            providers: providers.map(\.name),
            wantsSecondOpinion: secondOpinion,
            query: HTTPDNSProviderQuery(host: try HTTPDNSName(host), families: .v4, timeLimit: .zero),
            deadline: time.now() + limit
        )
    }
}

extension HTTPDNSScriptedProvider.Script {
    static let known = HTTPDNSScriptedProvider.Script.answer(
        .addresses([HTTPDNSAddress(v4: 203, 0, 113, 7)], timeToLive: .seconds(60))
    )
}

extension ProviderPool.Outcome {
    /// `ali: addresses`, `failed: ali: 503 in 0 ms`, `canceled`.
    var text: String {
        switch self {
        case .answered(let answer): "\(answer.provider.name): \(answer.outcome.isNegative ? "nothing" : "addresses")"
        case .failed(let attempts, _, _): "failed: \(attempts.map(\.description).joined(separator: "; "))"
        case .canceled: "canceled"
        }
    }
}
