// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSTrafficMonitor
internal import HTTPTypes

/// The records of a service's calls as text and JSON.
enum MonitorReport {
    typealias Record = HTTPDNSClient.TrafficMonitor.Record
    typealias Hop = HTTPDNSClient.TrafficMonitor.Hop

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
                Figures.phase(record.duration), count(record.hops.count, "hop", "hops"), source(record),
                PrintableText.line(record.url),
            ])
        }
        return zip(records, columns.lines()).map { record, line in
            let line = String(line.prefix(screen.width))
            return (isGood(record) ? line : screen.style.bad(line)) + "\n"
        }.joined()
    }

    /// Returns one call with its hops, their phases, addresses and header fields.
    static func detail(_ record: Record, _ screen: Screen, clock: ClockText) -> String {
        let mark = isGood(record) ? screen.style.good("ok") : screen.style.bad("x ")
        var segments = [
            "\(PrintableText.line(record.method)) \(PrintableText.line(record.url)) -> \(result(record))",
            Figures.phase(record.duration), clock.text(start(record)),
        ]
        if record.redirects > 0 { segments.append(count(record.redirects, "redirect", "redirects")) }
        if record.retries > 0 { segments.append(count(record.retries, "retry", "retries")) }
        let body = Figures.bytes(Int(record.bodyBytes))
        segments.append(record.isBodyComplete ? "\(body) of body read" : "\(body) of body read, not to its end")
        var rest = screen
        rest.width = screen.width == .max ? .max : screen.width - 3
        let head =
            mark + " "
            + LabelledLine.text("#\(record.callID)", segments, labelWidth: PhaseBars.margin, screen: rest)
        let failure = record.failure.map { line("error", [PrintableText.line($0.message)], screen) } ?? ""
        return head + failure + record.hops.map { text($0, screen) }.joined()
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

    private static func count(_ number: Int, _ one: String, _ several: String) -> String {
        "\(Figures.count(number)) \(number == 1 ? one : several)"
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

    private static func text(_ hop: Hop, _ screen: Screen) -> String {
        let outcome = hop.failure.map { "\($0.code)/\($0.phase)" } ?? hop.status.map { "\($0)" } ?? "canceled"
        let answer = [outcome, hop.version, hop.tls.map { "\($0.version) \($0.cipherSuite)" }].compactMap { $0 }
        let head = LabelledLine.text(
            "hop \(hop.number + 1)",
            [PrintableText.line("\(hop.method) \(hop.url) -> \(answer.joined(separator: ", "))")],
            labelWidth: PhaseBars.margin,
            screen: screen
        )
        let phases = phases(hop)
        return head + (phases.isEmpty ? "" : PhaseBars(phases).text(screen)) + addresses(hop, screen)
            + (hop.failure.map { line("error", [PrintableText.line($0.message)], screen) } ?? "")
            + bytes(hop, screen) + fields("request", hop.requestFields) + fields("response", hop.responseFields)
    }

    /// Returns the phases that took time.
    private static func phases(_ hop: Hop) -> [PhaseBars.Phase] {
        let (times, endpoint) = (hop.phases, hop.addresses.endpoint ?? "")
        let before = [times.connect, times.tls, times.firstByte, times.race].compactMap { $0 }.reduce(.zero, +)
        let body = times.total.map { max(.zero, $0 - before) }
        let all: [PhaseBars.Phase] = [
            .init("resolve", times.resolve, PrintableText.line(source(hop))),
            .init("race", times.race, "earlier attempts"),
            .init("connect", times.connect, PrintableText.line(endpoint)),
            .init("tls", times.tls, PrintableText.line(hop.tls?.version ?? "")),
            .init("first byte", times.firstByte, hop.reusedConnection ? "\(endpoint), reused connection" : ""),
            .init("body", body, Figures.bytes(Int(hop.bytes.responseBody ?? 0))),
        ]
        return all.filter { $0.duration != nil }
    }

    private static func addresses(_ hop: Hop, _ screen: Screen) -> String {
        let choice = hop.addresses
        var segments = [source(hop)]
        if let mapping = choice.mapping { segments.append("rule \(mapping)") }
        if let age = choice.age { segments.append("\(Figures.lifetime(age)) old\(choice.isStale ? ", STALE" : "")") }
        if let left = choice.timeLeft { segments.append("\(Figures.lifetime(left)) left") }
        if !choice.candidates.isEmpty { segments.append("candidates \(choice.candidates.joined(separator: ", "))") }
        if let endpoint = choice.endpoint { segments.append("connected \(endpoint)") }
        if let proxy = choice.proxy { segments.append("proxy \(proxy)") }
        if hop.route != "none" { segments.append("route \(hop.route)") }
        let attempts = choice.attempts.map { attempt in
            line("failed", [PrintableText.line("\(attempt.endpoint) \(attempt.phase): \(attempt.failure)")], screen)
        }
        return line("addresses", segments.map(PrintableText.line), screen) + attempts.joined()
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

    private static func fields(_ label: String, _ fields: HTTPFields) -> String {
        let margin = String(repeating: " ", count: PhaseBars.margin)
        return fields.map { field in
            "\(margin)\(label.padded(to: 8))    \(PrintableText.line("\(field.name.rawName): \(field.value)"))\n"
        }.joined()
    }
}
