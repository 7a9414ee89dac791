// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSMonitor
internal import HTTPTypes

/// The records of a service's calls as text and JSON.
enum MonitorReport {
    typealias Record = HTTPDNSTrafficMonitor.Record
    typealias Hop = HTTPDNSTrafficMonitor.Hop

    /// Returns one line for each record.
    static func json(_ records: [Record]) throws -> String {
        try records.map { try JSONText.text(of: $0, isIndented: false) + "\n" }.joined()
    }

    /// Returns one line for each call, cut at the width of the screen.
    static func list(_ records: [Record], _ screen: Screen, clock: ClockText) -> String {
        var columns = Columns()
        for record in records {
            columns.append([
                clock.text(start(record)), "#\(record.callID)", PrintableText.line(record.method), result(record),
                Figures.phase(record.duration), Figures.count(record.hops.count, "hop"), source(record),
                PrintableText.line(record.url),
            ])
        }
        return zip(records, columns.lines()).map { record, line in
            let line = String(line.prefix(screen.width))
            return (isGood(record) ? line : screen.style.bad(line)) + "\n"
        }.joined()
    }

    /// Returns one call with its hops on the time axis, the story of their addresses, and their bytes and header fields.
    static func detail(_ record: Record, _ screen: Screen, clock: ClockText) -> String {
        let mark = isGood(record) ? screen.style.good("ok") : screen.style.bad("x ")
        let body = record.status == nil || record.isBodyComplete ? "" : "   body not read to its end"
        let waterfall = FoldedText.text(TrafficText(screen).waterfall([record]), width: screen.width)
        return "\(mark) #\(record.callID)   \(clock.text(start(record)))\(body)\n" + waterfall
            + record.hops.map { text($0, screen) }.joined()
    }

    // MARK: Calls

    private static func start(_ record: Record) -> Date { Date(timeIntervalSince1970: Double(record.startTime) / 1000) }

    private static func isGood(_ record: Record) -> Bool {
        record.status.map { $0 < 400 } ?? false && record.failure == nil
    }

    private static func result(_ record: Record) -> String {
        if let failure = record.failure { return PrintableText.line("\(failure.code)/\(failure.phase)") }
        return record.status.map { "\($0)" } ?? PrintableText.line(record.outcome)
    }

    private static func source(_ record: Record) -> String {
        guard let hop = record.hops.last else { return "-" }
        return [source(hop), hop.addresses.endpoint].compactMap { $0 }.map(PrintableText.line).joined(separator: " ")
    }

    /// Returns `mapping`, `provider backup`, `cache hit`, `in process`.
    private static func source(_ hop: Hop) -> String {
        if hop.isAnsweredInProcess { return hop.cacheSource.map { "cache \($0)" } ?? "in process" }
        let words = [hop.addresses.source ?? "unresolved", hop.addresses.provider].compactMap { $0 }
        return words.joined(separator: " ")
    }

    // MARK: Hops

    private static func line(_ label: String, _ segments: [String], _ screen: Screen) -> String {
        LabelledLine.text(
            String(repeating: " ", count: PhaseBars.margin) + label,
            segments,
            labelWidth: PhaseBars.margin + 12,
            screen: screen
        )
    }

    /// Returns what the waterfall does not have.
    private static func text(_ hop: Hop, _ screen: Screen) -> String {
        let lines =
            route(hop, screen) + bytes(hop, screen) + fields("request", hop.requestFields, screen)
            + fields("response", hop.responseFields, screen)
        let label = "hop \(hop.number &+ 1)".padded(to: PhaseBars.margin)
        return lines.isEmpty ? "" : label + lines.dropFirst(PhaseBars.margin)
    }

    private static func route(_ hop: Hop, _ screen: Screen) -> String {
        hop.route == "none" ? "" : line("route", [PrintableText.line(hop.route)], screen)
    }

    private static func bytes(_ hop: Hop, _ screen: Screen) -> String {
        let parts = [
            ("request head", hop.bytes.requestHead), ("request body", hop.bytes.requestBody),
            ("response head", hop.bytes.responseHead), ("response body", hop.bytes.responseBody),
            ("decoded", hop.bytes.decodedBody),
        ]
        let known = parts.compactMap { name, count in count.map { "\(name) \(Figures.count(Int($0)))" } }
        return known.isEmpty ? "" : line("bytes", known, screen)
    }

    private static func fields(_ label: String, _ fields: HTTPFields, _ screen: Screen) -> String {
        fields.map { line(label, [PrintableText.line("\($0.name.rawName): \($0.value)")], screen) }.joined()
    }
}
#endif
