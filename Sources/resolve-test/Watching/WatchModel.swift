// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS

/// The state of `watch`, for every source. A value: changes go in, rows and notices come out; it neither queries nor writes.
struct WatchModel: Sendable {
    /// The number of notices in the details.
    static let shownNotices = 6

    private(set) var rows: [WatchRow]
    /// The kinds of the providers by their names.
    private(set) var providerKinds: [String: String]
    /// The last notices, the newest at the end.
    private(set) var notices: [WatchNotice] = []
    /// The status of the client, or of a running service; nil before the first one.
    var status: HTTPDNSClient.Status?
    /// The number of times that a running service was read.
    private var reads = 0

    init(_ questions: [HostArgument] = [], providerKinds: [String: String] = [:]) {
        rows = questions.map(WatchRow.init)
        self.providerKinds = providerKinds
    }

    /// The status of a running service; nil for a client of the program's own.
    var service: HTTPDNSClient.Status? { reads > 0 ? status : nil }

    /// Processes a change of the source.
    /// - Returns: The notices to report.
    mutating func take(_ change: WatchChange, at date: Date) -> [WatchNotice] {
        var contents: [WatchNotice.Content] = []
        switch change {
        case .asked: break
        case .answer(let index, let outcome):
            if rows[index].take(outcome, at: date) { contents.append(.state(rows[index])) }
        case .event(let event):
            for index in rows.indices { rows[index].take(event) }
            contents.append(.event(event))
        case .service(let status):
            // The names of the service become the rows, and names that it no longer has are removed.
            var old = Dictionary(rows.map { ($0.question.text, $0) }, uniquingKeysWith: { first, _ in first })
            rows = status.outcomes.compactMap { name, outcome in
                guard var row = old.removeValue(forKey: name) ?? (try? HostArgument(name)).map(WatchRow.init) else {
                    return nil
                }
                row.take(requests: status.requests(for: row.question))
                if row.take(outcome, at: date) { contents.append(.state(row)) }
                return row
            }
            let known = status.providers.filter { $0.kind != "provider" }.map { ($0.name, $0.kind) }
            providerKinds = Dictionary(known, uniquingKeysWith: { first, _ in first })
            self.status = status
            reads += 1
        }
        let new = contents.map { WatchNotice(date: date, content: $0) }
        notices = (notices + new.filter(\.isWorthShowing)).suffix(Self.shownNotices)
        return new
    }

    /// Returns whether each host has at least that many answers, or a service was read that often.
    func isAnswered(times count: Int) -> Bool {
        guard reads == 0, !rows.isEmpty else { return reads >= count }
        return rows.allSatisfy { $0.answers >= count }
    }
}
