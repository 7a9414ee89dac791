// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The part of the contract for several names in one call. A provider without batches is checked through the default, with
/// batches of one name.
extension HTTPDNSProviderCompatibility {
    func allowsBatches(_ provider: any HTTPDNSProvider) async -> String? {
        provider.batchLimit < 1 ? "its limit is \(provider.batchLimit)" : nil
    }

    func answersBatches(_ provider: any HTTPDNSProvider) async -> String? {
        let names = [fixture.dualStackName, fixture.unknownName, fixture.v4OnlyName]
        for batch in chunks(names, provider) {
            let answers: [HTTPDNSName: HTTPDNSProviderAnswer]
            switch await self.answers(provider, batch, .both) {
            case .success(let all): answers = all
            case .failure(let fault): return fault.text
            }
            if let stranger = answers.keys.first(where: { !batch.contains($0) }) {
                return "asked for \(batch), it answered about \(stranger)"
            }
            for host in batch {
                let query = HTTPDNSProviderQuery(host: host, families: .both, timeLimit: fixture.timeLimit)
                guard
                    case .succeeded(let single) = await patiently(
                        fixture.timeLimit,
                        { try await provider.resolve(query) }
                    )
                else { return "a single query for \(host) has no answer to compare with" }
                guard let answer = answers[host] else { return "\(host) has no answer in a batch of \(batch.count)" }
                for (inBatch, alone) in [(answer.v4, single.v4), (answer.v6, single.v6)]
                where Summary(inBatch) != Summary(alone) {
                    return "\(host) is \(Summary(inBatch)) in a batch, and \(Summary(alone)) alone"
                }
            }
        }
        return nil
    }

    func honoursFamiliesInBatches(_ provider: any HTTPDNSProvider) async -> String? {
        for batch in chunks([fixture.dualStackName, fixture.v4OnlyName], provider) {
            switch await answers(provider, batch, .v4) {
            case .failure(let fault): return fault.text
            case .success(let all):
                for (host, answer) in all where answer.v6 != nil || answer.v4 == nil {
                    return "asked for v4 alone, \(host) is \(Summary(answer.v4)) in v4 and \(Summary(answer.v6)) in v6"
                }
            }
        }
        return nil
    }

    func holdsTimeLimitInBatches(_ provider: any HTTPDNSProvider) async -> String? {
        guard let silent = fixture.silentName else { return nil }
        let batch = Array([silent, fixture.dualStackName].prefix(max(1, provider.batchLimit)))
        let query = HTTPDNSProviderQuery(host: silent, families: .both, timeLimit: fixture.shortTimeLimit)
        switch await patiently(fixture.shortTimeLimit, { try await provider.resolve(query, batch: batch) }) {
        case .failed(let error as HTTPDNSProviderError) where error.code == .timedOut: return nil
        case .failed(let error): return "it threw \(error)"
        case .timedOut, .canceled: return "it was not back \(fixture.gracePeriod) after its limit"
        case .succeeded(let answers):
            // Left out, or failed: both mean that the name was not answered.
            let outcomes = answers[silent].map { [$0.v4, $0.v6].compactMap { $0 } } ?? []
            let known = outcomes.first { if case .failed = $0 { false } else { true } }
            return known.map { "it answered \($0) about a name on which its service is silent" }
        }
    }

    func refusesBatchesAfterShutdown(_ provider: any HTTPDNSProvider) async -> String? {
        await provider.shutdown()
        let query = HTTPDNSProviderQuery(host: fixture.dualStackName, families: .both, timeLimit: fixture.timeLimit)
        let batch = [fixture.dualStackName]
        switch await patiently(fixture.timeLimit, { try await provider.resolve(query, batch: batch) }) {
        case .failed(let error as HTTPDNSProviderError) where error.code == .shutDown: return nil
        case .failed(let error): return "a batch after it threw \(error)"
        case .succeeded(let answers): return "a batch after it answered \(answers)"
        case .timedOut, .canceled:
            return "a batch after it was not back after \(fixture.timeLimit + fixture.gracePeriod)"
        }
    }

    private func chunks(_ names: [HTTPDNSName], _ provider: any HTTPDNSProvider) -> [[HTTPDNSName]] {
        let size = max(1, provider.batchLimit)
        return stride(from: 0, to: names.count, by: size).map { Array(names[$0..<min($0 + size, names.count)]) }
    }

    private struct Fault: Error {
        var text: String
    }

    private func answers(
        _ provider: any HTTPDNSProvider,
        _ batch: [HTTPDNSName],
        _ families: HTTPDNSAddress.Families
    ) async -> Result<[HTTPDNSName: HTTPDNSProviderAnswer], Fault> {
        let query = HTTPDNSProviderQuery(host: batch[0], families: families, timeLimit: fixture.timeLimit)
        return switch await patiently(fixture.timeLimit, { try await provider.resolve(query, batch: batch) }) {
        case .succeeded(let answers): .success(answers)
        case .failed(let error): .failure(Fault(text: "it threw \(error)"))
        case .timedOut, .canceled: .failure(Fault(text: "it was not back \(fixture.gracePeriod) after its limit"))
        }
    }
}

/// The parts of two answers for one name that must be equal: neither the time to live, which falls, nor the order.
private enum Summary: Equatable, CustomStringConvertible {
    case addresses(Set<HTTPDNSAddress>)
    case noData
    case nameError
    case failed
    case notAsked

    init(_ answer: HTTPDNSProviderAnswer.Family?) {
        self =
            switch answer {
            case .addresses(let addresses, _, _): .addresses(Set(addresses))
            case .noData: .noData
            case .nameError: .nameError
            case .failed: .failed
            case nil: .notAsked
            }
    }

    var description: String {
        switch self {
        case .addresses(let addresses): "\(addresses.map(\.description).sorted())"
        case .noData: "\"no data\""
        case .nameError: "\"no such name\""
        case .failed: "a failure"
        case .notAsked: "nothing"
        }
    }
}
