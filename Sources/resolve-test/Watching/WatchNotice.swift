// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS

/// A notice of `watch`: an event of the resolver, or a change of the result that a request for a host would get.
struct WatchNotice: Sendable {
    enum Content: Sendable {
        case event(HTTPDNSResolver.Event)
        case state(WatchRow)
    }

    var date: Date
    var content: Content

    /// The identifier at the beginning of the line, and the value of `event` in JSON.
    var word: String {
        switch content {
        case .event(let event): event.kind.description
        case .state: "state"
        }
    }

    /// Whether the notice is shown without `-v`: constant events are for programs, and for `-v`.
    var isWorthShowing: Bool {
        if case .event(let event) = content { return event.kind != .refreshStarted && event.kind != .snapshotSaved }
        return true
    }

    /// `14:02:11  changed              img.shop.test   127.0.0.2 -> 127.0.0.3   doh   5 s left`
    func text(providerKinds: [String: String], clock: ClockText) -> String {
        let parts: [String] =
            switch content {
            case .event(let event): eventParts(event)
            case .state(let row): stateParts(row, providerKinds)
            }
        let tail = parts.filter { !$0.isEmpty }.joined(separator: "   ")
        // As wide as the longest identifier, provider-quarantined.
        return PrintableText.line("\(clock.text(date))  \(word.padded(to: 20))  \(tail)").trimmingTrailingBlanks()
    }

    private func stateParts(_ row: WatchRow, _ providerKinds: [String: String]) -> [String] {
        switch row.state {
        case .asking: return [row.question.text]
        case .failed(let failure): return [row.question.text, "-", failure.shortReason]
        case .resolved(let resolution):
            let addresses = resolution.endpoints.map { EndpointText.text($0, urlPort: row.question.port) }
            let words = ResolutionText(resolution: resolution, providerKinds: providerKinds)
            return [row.question.text, addresses.joined(separator: " "), words.source, words.lifetime]
        }
    }

    private func eventParts(_ event: HTTPDNSResolver.Event) -> [String] {
        var parts = [event.host?.description ?? "", event.provider ?? ""]
        let addresses = event.addresses.map(\.description).joined(separator: " ")
        if event.kind == .changed {
            parts.append("\(event.previousAddresses.map(\.description).joined(separator: " ")) -> \(addresses)")
        } else {
            parts.append(addresses)
        }
        if let count = event.count {
            parts.append(event.kind == .reloaded ? "generation \(count)" : Figures.count(count, "answer"))
        }
        if let elapsed = event.elapsed {
            parts.append(event.kind == .servedStale ? "\(Figures.lifetime(elapsed)) old" : Figures.phase(elapsed))
        }
        if let duration = event.duration {
            let isBackOff = event.kind == .providerQuarantined
            parts.append(isBackOff ? "for \(Figures.lifetime(duration))" : "\(Figures.lifetime(duration)) left")
        }
        parts.append(event.message ?? event.code ?? "")
        if event.missedBefore > 0 { parts.append("(\(event.missedBefore) events before it were missed)") }
        return parts
    }

    /// Returns one object; Docs/CommandLine.md has the keys.
    func json() -> JSONValue {
        let members =
            switch content {
            case .event(let event): eventMembers(event)
            case .state(let row): stateMembers(row)
            }
        return .object(members.adding(["time": .text(ClockText.universal(date)), "event": .text(word)]))
    }

    private func stateMembers(_ row: WatchRow) -> [String: JSONValue] {
        let members: [String: JSONValue] =
            switch row.state {
            case .asking: ["addresses": .array([])]
            case .resolved(let resolution): ResolutionJSON.members(resolution, urlPort: row.question.port)
            case .failed(let failure):
                [
                    "addresses": .array([]), "code": .text(failure.reason ?? failure.code),
                    "message": .text(failure.message),
                ]
            }
        return members.adding([
            "host": .text(row.question.host.description), "port": .integer(Int(row.question.port)),
        ])
    }

    private func eventMembers(_ event: HTTPDNSResolver.Event) -> [String: JSONValue] {
        [
            "host": .optional(event.host?.description),
            "route": .optional(event.route),
            "provider": .optional(event.provider),
            "source": .optional(event.source.map { "\($0)" }),
            "addresses": .array(event.addresses.map { .text($0.description) }),
            "previousAddresses": .array(event.previousAddresses.map { .text($0.description) }),
            "elapsedSeconds": .seconds(event.elapsed),
            "durationSeconds": .seconds(event.duration),
            "code": .optional(event.code),
            "message": .optional(event.message),
            "count": .optional(event.count),
            "missedBefore": .integer(event.missedBefore),
        ]
    }
}

extension CommandFailure {
    /// The short reason for a cell of a table: `name not found`.
    var shortReason: String { (reason ?? code).split(separator: "-").joined(separator: " ") }
}
#endif
