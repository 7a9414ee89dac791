// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// An HTTP-DNS provider that answers as the world draws it: in time, late, wrongly, not at all.
final class ModelProvider: HTTPDNSProvider {
    let name: String

    init(_ name: String) { self.name = name }

    func isEquivalent(to other: any HTTPDNSProvider) -> Bool { (other as? ModelProvider)?.name == name }

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        let stage = currentStage
        stage.queryCount += 1
        if let since = stage.switchedOff {
            stage.violate(
                "a provider is not asked after the switch is off",
                "\(name) for \(query.host), off since \(since)"
            )
        }
        let host = "\(query.host)"
        let number = stage.next("query \(name) \(host) \(query.families)")
        var draw = Draw(stage.seed, "answer \(name) \(host) \(query.families) \(number)")
        stage.note("query \(name) \(host) \(query.families) \(number)")
        // A provider is well or bad for some seconds.
        var weather = Draw(stage.seed, "provider \(name) \(schedule.elapsed / 4_000_000_000)")
        let isDown = weather.happens(15)
        let fate = draw.below(1000)
        try await Task.sleep(
            for: draw.time(
                .microseconds(300),
                isDown ? .seconds(4) : fate < 30 ? .milliseconds(900) : .milliseconds(30)
            )
        )
        if isDown || fate < 60 {
            stage.cover("answer failed")
            throw HTTPDNSProviderError(code: .serverFailure, message: "SERVFAIL")
        }
        guard let index = stage.world.names.firstIndex(where: { $0.host == host }) else {
            return HTTPDNSProviderAnswer(nil, timeToLive: .seconds(5), to: query)
        }
        let life: Duration = draw.pick([
            .zero, .seconds(1), .seconds(1), .seconds(20), .seconds(600), .seconds(2_147_483_648),
        ])
        if fate < 75 {
            stage.cover("answer no such name")
            return HTTPDNSProviderAnswer(nil, timeToLive: .seconds(2), to: query)
        }
        if fate < 90 {
            stage.cover("answer empty")
            return HTTPDNSProviderAnswer([], timeToLive: life, to: query)
        }
        if fate < 110 {
            stage.cover("answer with a private address")
            return HTTPDNSProviderAnswer([HTTPDNSAddress(v4: 10, 0, 0, UInt8(index))], timeToLive: life, to: query)
        }
        stage.cover("answer")
        let own = stage.world.names[index].addresses
        let first = draw.below(own.count)
        let addresses = (0..<1 + draw.below(3)).map { own[(first + $0) % own.count] }
        let asked = addresses.filter { query.families.contains($0.family == .v4 ? .v4 : .v6) }
        stage.answered(index, asked, lives: life)
        return HTTPDNSProviderAnswer(addresses, timeToLive: life, to: query)
    }
}
