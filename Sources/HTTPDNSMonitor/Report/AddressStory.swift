// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The path of a hop to its server in words. Its texts have values of servers, and need to be escaped.
enum AddressStory {
    private typealias Hop = HTTPDNSTrafficMonitor.Hop

    /// Returns sentences in the order of time: the source of the addresses, the candidates, the failed attempts, the address
    /// that answered, and the error.
    static func sentences(of hop: HTTPDNSTrafficMonitor.Hop) -> [String] {
        var sentences: [String] = []
        if hop.isAnsweredInProcess {
            sentences.append(
                hop.cacheSource.map { "The response cache answered (\($0)); nothing was sent." }
                    ?? "This process answered with an interceptor, a stub or a handler; nothing was sent."
            )
        } else if hop.isMerged {
            sentences.append("The call got the response to an identical request of another call.")
        } else {
            sentences += network(hop)
        }
        if let failure = hop.failure {
            sentences.append("No response: \(failure.code) in the phase \(failure.phase). \(failure.message)")
        } else if hop.status == nil {
            sentences.append("The request was canceled before its response.")
        }
        return sentences
    }

    private static func network(_ hop: Hop) -> [String] {
        let addresses = hop.addresses
        var sentences = [source(of: hop)]
        if addresses.isStale { sentences.append("The answer was stale: past its time to live.") }
        if addresses.candidates.count > 1 {
            sentences.append("Candidates in order: \(addresses.candidates.joined(separator: ", ")).")
        }
        for attempt in addresses.attempts {
            sentences.append(
                "\(attempt.endpoint) failed after \(attempt.elapsed.shortText) in the phase \(attempt.phase): \(attempt.failure)."
            )
        }
        let failed = addresses.attempts.map(\.endpoint)
        if let race = hop.phases.race, let first = addresses.candidates.first, first != addresses.endpoint,
            !failed.contains(first)
        {
            sentences.append("\(first) had no connection when the next address was tried, after \(race.shortText).")
        }
        if let endpoint = addresses.endpoint { sentences.append(answer(of: hop, endpoint)) }
        if hop.isHedged { sentences.append("The request was sent to two addresses, and this response was the first.") }
        if let cache = hop.cacheSource { sentences.append("Response cache: \(cache).") }
        return sentences
    }

    private static func answer(of hop: Hop, _ endpoint: String) -> String {
        let connection = hop.reusedConnection ? "a connection that had been used before" : "a new connection"
        let proxy = hop.addresses.proxy.map { " through the proxy \($0)" } ?? ""
        let version = hop.version.map { " over \($0)" } ?? ""
        let tls = hop.tls.map { " with \($0.version) (\($0.cipherSuite))" } ?? ""
        return "\(endpoint) answered\(version)\(tls) on \(connection)\(proxy)."
    }

    private static func source(of hop: Hop) -> String {
        let (addresses, host) = (hop.addresses, HopTarget(hop.url, nil).host)
        let key = addresses.mapping.map { " \"\($0)\"" } ?? ""
        switch addresses.source {
        case "provider":
            let name = addresses.provider.map { "Provider \"\($0)\"" } ?? "A provider"
            return "\(name) named the address of \(host)\(freshness(addresses))."
        case "system": return "The system resolver named the address of \(host)\(freshness(addresses))."
        case "mapping": return "Mapping\(key) named the address of \(host)."
        case "last-resort": return "Mapping\(key) named the address of \(host) as a last resort."
        case "request": return "The request named its own address for \(host)."
        case "literal": return "The URL has an address, so nothing was resolved."
        case "proxy": return "The proxy resolves \(host)."
        case "unix-socket": return "The request goes to a Unix socket, so nothing was resolved."
        case let source?: return "The address of \(host) is from: \(source)."
        case nil: return "No address was found for \(host)."
        }
    }

    private static func freshness(_ addresses: HTTPDNSTrafficMonitor.AddressChoice) -> String {
        let parts = [
            addresses.age.map { "queried \($0.shortText) earlier" },
            addresses.timeLeft.map { "\($0.shortText) left to live" },
        ].compactMap(\.self)
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }
}
