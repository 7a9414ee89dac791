// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS

/// The live table: a row for each host, a line for the providers, and optional details.
struct WatchTable {
    private struct Cell {
        var text: String
        var tone: Style.Tone

        init(_ text: String, _ tone: Style.Tone = .plain) {
            self.text = PrintableText.line(text)
            self.tone = tone
        }
    }

    var model: WatchModel
    var showsDetails = false
    var clock = ClockText.local

    private static let header = ["name", "address", "source", "left", "health", "stale", "refreshed", "changes"]
    /// The right-aligned column of figures.
    private static let staleColumn = 5

    /// - Parameter height: The maximum number of lines; hosts that do not fit are counted.
    func lines(_ screen: Screen, height: Int = .max) -> [String] {
        let foot = footer(screen)
        var table = [Self.header.map { Cell($0, .quiet) }]
        var rowEnds: [Int] = []
        for row in model.rows {
            table.append(cells(row))
            table += addresses(row)
            if showsDetails { table += details(row) }
            rowEnds.append(table.count)
        }
        let room = max(2, height - foot.count)
        let folded = aligned(table, width: screen.width)
        // The number of lines of the rows up to each index.
        let heights = folded.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) }
        var body = folded.joined().map(\.self)
        var tail: [[Cell]] = []
        if body.count > room {
            let shown = rowEnds.lastIndex { heights[$0] < room }.map { $0 + 1 } ?? 0
            body = Array(body.prefix(heights[shown > 0 ? rowEnds[shown - 1] : 1]))
            let hidden = Figures.count(model.rows.count - shown, "more host")
            tail = [[Cell("... \(hidden): enlarge the window", .quiet)]]
        }
        return (body + tail).map { painted($0, screen) } + foot
    }

    private func cells(_ row: WatchRow) -> [Cell] {
        let name = Cell(row.question.text)
        let stale = Cell("\(row.staleAnswers)", row.staleAnswers > 0 ? .bad : .plain)
        let changes = Cell(changeText(row))
        switch row.state {
        case .asking:
            return [name, Cell("asking", .quiet), Cell("-"), Cell("-"), Cell("-"), stale, Cell("-"), changes]
        case .failed(let failure):
            let refreshed = row.lookUpFailed ? Cell("failed", .bad) : Cell("-")
            return [
                name, Cell("-", .bad), Cell(failure.shortReason, .bad), Cell("-"), Cell("-"), stale, refreshed, changes,
            ]
        case .resolved(let resolution):
            let words = ResolutionText(resolution: resolution, providerKinds: model.providerKinds)
            return [
                name, Cell(addressText(row, resolution)), Cell(words.source),
                resolution.isStale ? Cell("STALE", .bad) : Cell(resolution.timeToLive.map(Figures.lifetime) ?? "-"),
                health(of: resolution.provider),
                stale, refreshed(row, resolution), changes,
            ]
        }
    }

    /// Returns `healthy 1.4 ms`, `suspect 1.4 ms`, `quarantined 9 s`.
    private func health(of name: String?) -> Cell {
        guard let provider = model.status?.providers.first(where: { $0.name == name }) else { return Cell("-") }
        let time = provider.backOffSeconds.map { Figures.lifetime(.seconds($0)) }
        let latency = provider.latencySeconds.map { Figures.phase(.seconds($0)) }
        let figure = provider.state == "quarantined" ? time : latency
        return Cell(
            [provider.state, figure].compactMap(\.self).joined(separator: " "),
            provider.state == "healthy" ? .good : .bad
        )
    }

    private func addressText(_ row: WatchRow, _ resolution: HTTPDNSResolver.Resolution) -> String {
        if let first = listed(row, resolution).first { return first }
        guard let first = resolution.endpoints.first else { return "-" }
        let more = resolution.endpoints.count - 1
        return EndpointText.text(first, urlPort: row.question.port) + (more > 0 ? " +\(more)" : "")
    }

    /// Returns the addresses after the first, a line for each.
    private func addresses(_ row: WatchRow) -> [[Cell]] {
        guard case .resolved(let resolution) = row.state else { return [] }
        return listed(row, resolution).dropFirst().map { [Cell(""), Cell($0)] }
    }

    /// Returns `203.0.113.7 weight 95, 12 requests` for each address, with details and for weighted addresses; else an empty
    /// list.
    ///
    /// Weighted addresses are in the order of their rule, so that lines do not swap with each answer.
    private func listed(_ row: WatchRow, _ resolution: HTTPDNSResolver.Resolution) -> [String] {
        let targets = (resolution.mapping?.targets ?? []).filter { $0.weight != nil }
        let port = row.question.port
        if targets.count > 1 {
            return targets.map { target in
                let endpoint = HTTPDNSEndpoint(address: target.address, port: target.port ?? port)
                return "\(MappingText.weighted(target)), \(row.useText(of: endpoint))"
            }
        }
        guard showsDetails else { return [] }
        return resolution.endpoints.map { "\(EndpointText.text($0, urlPort: port)), \(row.useText(of: $0))" }
    }

    private func refreshed(_ row: WatchRow, _ resolution: HTTPDNSResolver.Resolution) -> Cell {
        if row.lookUpFailed { return Cell("failed", .bad) }
        guard resolution.source == .provider || resolution.source == .system else { return Cell("-") }
        return Cell("\(Figures.lifetime(resolution.age)) ago")
    }

    /// Returns `2: 14:02:11 was 127.0.0.9`.
    private func changeText(_ row: WatchRow) -> String {
        guard let change = row.lastChange else { return "-" }
        let gone = change.previous.map(\.description).joined(separator: " ")
        return "\(row.changes): \(clock.text(change.date)) \(gone.isEmpty ? "more addresses" : "was \(gone)")"
    }

    private func details(_ row: WatchRow) -> [[Cell]] {
        switch row.state {
        case .asking: return []
        case .failed(let failure): return [[Cell("  \(failure.message)", .quiet)]]
        case .resolved(let resolution):
            let words = ResolutionText(resolution: resolution, providerKinds: model.providerKinds)
            let facts = [
                resolution.mapping.map { "mapping \"\($0.key)\"" + ($0.location.map { " at \($0)" } ?? "") },
                resolution.route.map { "route \"\($0.pattern)\"" + ($0.location.map { " at \($0)" } ?? "") },
                resolution.canonicalName.map { "canonical name \($0)" },
                words.failures.isEmpty ? nil : words.failures,
            ].compactMap { $0 }
            return facts.isEmpty ? [] : [[Cell("  " + facts.joined(separator: "   "), .quiet)]]
        }
    }

    private func footer(_ screen: Screen) -> [String] {
        var lines = [painted(providerCells, screen)]
        if let service = model.service { lines.append(painted(serviceCells(service), screen)) }
        guard showsDetails else { return lines }
        let counters = HTTPDNSResolver.Counters(byName: model.status?.counters ?? [:])
        let counts = [
            "queries \(Figures.count(counters.queries))", "hits \(Figures.count(counters.hits))",
            "stale \(Figures.count(counters.staleServed))",
            "refreshes \(Figures.count(counters.refreshesSucceeded)), \(Figures.count(counters.refreshesFailed)) failed",
            "cached \(Figures.count(counters.cacheEntries))",
        ]
        lines.append(painted([Cell("resolver ", .quiet), Cell(counts.joined(separator: "   "))], screen))
        lines += model.notices.map { notice in
            painted([Cell(notice.text(providerKinds: model.providerKinds, clock: clock), .quiet)], screen)
        }
        return lines
    }

    private var providerCells: [Cell] {
        guard let providers = model.status?.providers, !providers.isEmpty else {
            return [Cell("providers", .quiet), Cell("none")]
        }
        return [Cell("providers", .quiet)]
            + providers.map { provider in
                let isHealthy = provider.state == "healthy"
                let latency = isHealthy ? provider.percentile95Seconds : nil
                let figure = latency.map { " p95 \(Figures.phase(.seconds($0)))" } ?? ""
                return Cell("\(provider.name) \(DumpReport.state(of: provider))\(figure)", isHealthy ? .good : .bad)
            }
    }

    /// Returns `service    up 3 h  reload ok 14 s ago  generation 7  switch ON`.
    private func serviceCells(_ service: HTTPDNSClient.Status) -> [Cell] {
        var cells = [Cell("service  ", .quiet), Cell("up \(Figures.lifetime(.seconds(service.uptimeSeconds)))")]
        if let reload = service.lastReload {
            cells.append(Cell("reload \(DumpReport.text(of: reload))", reload.isApplied ? .plain : .bad))
        }
        cells.append(Cell("generation \(service.mappings.generation)"))
        let isOn = service.killSwitch.entries.isEmpty
        cells.append(Cell("switch \(SwitchReport.word(service.killSwitch))", isOn ? .good : .bad))
        if service.cache.isTruncated { cells.append(Cell("not all answers are shown: give hosts", .quiet)) }
        return cells
    }

    /// Returns the lines of each row, with cells as wide as their columns.
    ///
    /// Lines of details have fewer cells, and the last cell of a line may be of any width. Columns that do not fit on a narrow
    /// screen begin another line, below each other.
    private func aligned(_ table: [[Cell]], width screenWidth: Int) -> [[[Cell]]] {
        let widths = Self.header.indices.map { column in
            table.map { $0.count > column + 1 || $0.count == Self.header.count ? $0[column].text.count : 0 }.max() ?? 0
        }
        let breaks = Self.breaks(widths, width: screenWidth)
        return table.map { line in
            let cells = line.enumerated().map { column, cell in
                guard column + 1 < line.count else { return cell }
                var cell = cell
                cell.text =
                    column == Self.staleColumn
                    ? cell.text.paddedLeft(to: widths[column]) : cell.text.padded(to: widths[column])
                return cell
            }
            var lines: [[Cell]] = []
            for (start, end) in zip(breaks, breaks.dropFirst() + [cells.count]) where start < min(end, cells.count) {
                lines.append((start > 0 ? [Cell("")] : []) + cells[start..<min(end, cells.count)])
            }
            return lines
        }
    }

    /// Returns the columns that begin a line: the first, and each that would end beyond the screen.
    private static func breaks(_ widths: [Int], width: Int) -> [Int] {
        var breaks = [0]
        var end = widths.first ?? 0
        for column in widths.indices.dropFirst() {
            // Two blanks separate cells, and precede the first one of a continuation line.
            end += 2 + widths[column]
            guard end > width else { continue }
            breaks.append(column)
            end = 2 + widths[column]
        }
        return breaks
    }

    /// Returns one line, cut at the end of the screen; colors do not count.
    private func painted(_ cells: [Cell], _ screen: Screen) -> String {
        var line = ""
        var room = screen.width
        for (index, cell) in cells.enumerated() where room > 0 {
            let text = String(((index > 0 ? "  " : "") + cell.text).prefix(room))
            room -= text.count
            let shown = index + 1 == cells.count || room == 0 ? text.trimmingTrailingBlanks() : text
            line += screen.style.paint(shown, cell.tone)
        }
        return line
    }
}
#endif
