// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// Records as text for a terminal: the story of a report in lines.
///
/// Values of servers and callers are on one line each, and their control characters are escaped.
package struct TrafficText: Sendable {
    /// The properties of the terminal.
    package struct Appearance: Hashable, Sendable {
        /// The number of columns; `.max` where lines are not folded, as in a file.
        package var width: Int
        /// Whether the bars have colors, by SGR parameters of ECMA-48.
        package var isColored: Bool
        /// Whether the bars have block characters; otherwise letters.
        package var isUnicode: Bool

        package init(width: Int, isColored: Bool, isUnicode: Bool) {
            self.width = width
            self.isColored = isColored
            self.isUnicode = isUnicode
        }
    }

    /// The column of the bars.
    private static let margin = 7
    /// The number of marks of a bar.
    private static let barWidths = 10...40
    /// The most characters of one value.
    private static let maximumValue = 300

    private let appearance: Appearance

    package init(_ appearance: Appearance) { self.appearance = appearance }

    // MARK: calls

    /// Returns the hops of calls as bars on the time axis of their call, each with the story of its address.
    package func waterfall(_ records: [HTTPDNSTrafficMonitor.Record]) -> String {
        guard !records.isEmpty else { return "" }
        return records.map(call).joined() + key
    }

    private func call(_ record: HTTPDNSTrafficMonitor.Record) -> String {
        var parts = [shown(record.result), record.duration.shortText, TrafficFigures.bytes(record.bodyBytes)]
        if record.redirects > 0 { parts.append(TrafficFigures.count(record.redirects, "redirect")) }
        if record.retries > 0 { parts.append(record.retries == 1 ? "1 retry" : "\(record.retries) retries") }
        var text = line("\(shown(record.method)) \(shown(record.url)) -> \(parts.joined(separator: ", "))", indent: 0)
        for (hop, timeline) in zip(record.hops, record.timelines) {
            text += "hop \(hop.number &+ 1)".padded(to: Self.margin) + bar(timeline, of: record.duration)
            text += " \((hop.duration ?? .zero).shortText)  \(hop.status.map { String($0) } ?? "-")\n"
            for sentence in AddressStory.sentences(of: hop) { text += line(shown(sentence), indent: Self.margin) }
        }
        if let failure = record.failure, record.hops.last?.failure == nil {
            text += line(
                shown("\(failure.code) in the phase \(failure.phase): \(failure.message)"),
                indent: Self.margin
            )
        }
        return text
    }

    private var barWidth: Int {
        appearance.width == .max
            ? Self.barWidths.upperBound
            : min(max(appearance.width - Self.margin - 20, Self.barWidths.lowerBound), Self.barWidths.upperBound)
    }

    /// Returns a bar with at least one mark for each phase, as far as there is room.
    private func bar(_ timeline: HopTimeline, of whole: Duration) -> String {
        let width = barWidth
        func column(_ time: Duration) -> Int { Int((min(max(time / whole, 0), 1) * Double(width)).rounded()) }
        var marks = [HopTimeline.Phase?](repeating: nil, count: width)
        var next = 0
        for segment in timeline.segments where whole > .zero {
            let start = min(max(column(segment.start), next), width - 1)
            next = max(column(segment.start + segment.length), start + 1)
            for column in start..<next { marks[column] = segment.phase }
        }
        return marks.map { $0.map { painted(mark(of: $0), $0) } ?? " " }.joined()
    }

    private var key: String {
        let names = HopTimeline.Phase.allCases.map { "\(painted(mark(of: $0), $0)) \($0.name)" }
        return String(repeating: " ", count: Self.margin) + names.joined(separator: "  ") + "\n"
    }

    private func mark(of phase: HopTimeline.Phase) -> String {
        switch phase {
        case .resolve: appearance.isUnicode ? "░" : "r"
        case .blocked: appearance.isUnicode ? "·" : "."
        case .race: appearance.isUnicode ? "╌" : "e"
        case .connect: appearance.isUnicode ? "▒" : "c"
        case .tls: appearance.isUnicode ? "▓" : "t"
        case .wait: appearance.isUnicode ? "█" : "w"
        case .receive: appearance.isUnicode ? "▄" : "b"
        }
    }

    private func painted(_ mark: String, _ phase: HopTimeline.Phase) -> String {
        guard appearance.isColored else { return mark }
        let parameter =
            switch phase {
            case .resolve: "36"
            case .blocked: "2"
            case .race: "31"
            case .connect: "33"
            case .tls: "35"
            case .wait: "32"
            case .receive: "34"
            }
        return "\u{1B}[\(parameter)m\(mark)\u{1B}[0m"
    }

    // MARK: sums

    /// Returns the sums, the percentiles of hosts and routes, the traffic of hosts, and the errors.
    /// - Parameter counters: The sums of a monitor; nil for those of the records.
    package func summary(
        _ records: [HTTPDNSTrafficMonitor.Record],
        counters: HTTPDNSTrafficMonitor.Counters? = nil
    ) -> String {
        let summary = TrafficSummary(records, counters: counters)
        let (calls, traffic) = (summary.counters.calls, summary.counters.traffic)
        let parts = [
            TrafficFigures.count(calls.calls, "call"), TrafficFigures.count(calls.hops, "hop"),
            "\(TrafficFigures.count(calls.failed)) failed", "\(TrafficFigures.count(calls.canceled)) canceled",
            "\(TrafficFigures.count(traffic.clientErrors + traffic.serverErrors)) with status 4xx or 5xx",
            "sent \(TrafficFigures.bytes(traffic.bytesUp))", "received \(TrafficFigures.bytes(traffic.bytesDown))",
        ]
        var text = line(parts.joined(separator: ", "), indent: 0)
        text += summary.calls.map(distribution) ?? ""
        text += percentiles("time to the head by host", summary.hosts)
        text += percentiles("time to the head by route", summary.routes)
        text += table(
            ["traffic by host", "requests", "errors", "failed", "up", "down"],
            summary.counters.hosts.sorted { ($1.value.bytesDown, $0.key) < ($0.value.bytesDown, $1.key) }.map {
                let (host, traffic) = $0
                return [
                    shown(host), TrafficFigures.count(traffic.requests),
                    TrafficFigures.count(traffic.clientErrors + traffic.serverErrors),
                    TrafficFigures.count(traffic.failed), TrafficFigures.bytes(traffic.bytesUp),
                    TrafficFigures.bytes(traffic.bytesDown),
                ]
            }
        )
        for error in summary.errors.prefix(ReportPage.maximumRows) {
            let message = error.message.isEmpty ? "" : ": \(error.message)"
            text += line("\(error.count) x \(shown(error.kind)) at \(shown(error.host))\(shown(message))", indent: 0)
        }
        return text
    }

    /// Returns a line for each bin of durations, and their percentiles.
    private func distribution(_ latencies: Latencies) -> String {
        let bins = latencies.usedBins.map { (name: Latencies.text(ofBin: $0), count: latencies.bins[$0]) }
        let most = max(bins.map(\.count).max() ?? 1, 1)
        let width = bins.map(\.name.count).max() ?? 0
        let rows = bins.map { bin in
            let marks = bin.count == 0 ? 0 : max(1, bin.count * barWidth / most)
            let bar = String(repeating: painted(appearance.isUnicode ? "█" : "#", .receive), count: marks)
            return "\(bin.name.padded(to: width))  \(bar)\(marks == 0 ? "" : " ")\(TrafficFigures.count(bin.count))\n"
        }
        let percentiles = [
            ("p50", latencies.median), ("p90", latencies.percentile90), ("p99", latencies.percentile99),
            ("max", latencies.maximum),
        ].map { "\($0) \($1.shortText)" }
        return "durations of calls: \(percentiles.joined(separator: ", "))\n" + rows.joined()
    }

    private func percentiles(_ title: String, _ groups: [TrafficSummary.Group]) -> String {
        table(
            [title, "responses", "p50", "p90", "p99", "max"],
            groups.map { group in
                let latencies = group.latencies
                let durations = [
                    latencies.median, latencies.percentile90, latencies.percentile99, latencies.maximum,
                ]
                return [shown(group.name), TrafficFigures.count(latencies.count)] + durations.map(\.shortText)
            }
        )
    }

    /// Returns rows with the first column at the left and the others at the right; nothing without a row.
    private func table(_ head: [String], _ rows: [[String]]) -> String {
        guard !rows.isEmpty else { return "" }
        let rows = [head] + rows.prefix(ReportPage.maximumRows)
        let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == 0 ? cell.padded(to: widths[0]) : cell.paddedLeft(to: widths[column])
            }.joined(separator: "  ") + "\n"
        }.joined()
    }

    // MARK: lines

    private func shown(_ value: String) -> String { value.onOneLine(limit: Self.maximumValue) }

    /// Returns text that is folded at blanks, and inside words that are longer than a line.
    private func line(_ text: String, indent: Int) -> String {
        let room = max(appearance.width == .max ? .max : appearance.width - indent, 20)
        let blanks = String(repeating: " ", count: indent)
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ") {
            var word = word[...]
            if !line.isEmpty, line.count + 1 + word.count > room {
                lines.append(line)
                line = ""
            }
            while word.count > room {
                lines.append(String(word.prefix(room)))
                word = word.dropFirst(room)
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return (lines + [line]).map { "\(blanks)\($0)\n" }.joined()
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    fileprivate func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
