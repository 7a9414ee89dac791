// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A call in the waterfall of a report: a line with its bars, and the details behind it.
struct ReportCall {
    /// The most characters of a stored body. The rest is in the records.
    static let maximumBody = 16_384
    /// The most header fields of a message.
    static let maximumFields = 200

    private let record: HTTPDNSTrafficMonitor.Record
    private let group: CallGroup
    private let timelines: [HopTimeline]

    init(_ record: HTTPDNSTrafficMonitor.Record, in group: CallGroup) {
        self.record = record
        self.group = group
        timelines = record.timelines
    }

    /// The heading of a group, with its time axis.
    static func beginning(of group: CallGroup) -> HTML {
        let quarters = HTML((0...4).map { "<span>\((group.length * $0 / 4).shortText)</span>" as HTML })
        return """
            <div class="group">
            <div class="axis quiet"><span class="when">\(TrafficFigures.timeOfDay(group.start)) UTC</span>\
            <span class="ticks">\(quarters)</span></div>

            """
    }

    static let groupEnd: HTML = "</div>\n"

    /// Returns the class of a phase in the style sheet, from a closed set.
    static func style(of phase: HopTimeline.Phase) -> HTML {
        switch phase {
        case .blocked: "p-blocked"
        case .resolve: "p-resolve"
        case .race: "p-race"
        case .connect: "p-connect"
        case .tls: "p-tls"
        case .wait: "p-wait"
        case .receive: "p-receive"
        }
    }

    var html: HTML {
        let offset = group.offset(of: record)
        let bars = HTML(timelines.map { Self.bars($0, after: offset, of: group.length) })
        return """
            <details class="call">
            <summary><span class="result \(Self.style(of: record))">\(record.result)</span>\
            <span class="what"><b>\(record.method)</b> \(Self.shortened(record.url))</span>\
            <span class="size">\(TrafficFigures.bytes(record.bodyBytes))</span>\
            <span class="time">\(record.duration.shortText)</span>\
            <span class="bar" aria-hidden="true">\(frame(after: offset))\(bars)</span></summary>
            <div class="details">
            <p>\(sentence)</p>
            \(failure)\(HTML(record.hops.indices.map(hop)))\(bodies)</div>
            </details>

            """
    }

    private static func style(of record: HTTPDNSTrafficMonitor.Record) -> HTML {
        if record.failure != nil { return "r-failed" }
        return switch record.status {
        case .some(..<300): "r-ok"
        case .some(300..<400): "r-moved"
        case .some(400..<500): "r-client"
        case .some: "r-failed"
        case nil: "r-moved"
        }
    }

    /// Returns a URL with a quiet host, and without the scheme https.
    private static func shortened(_ url: String) -> HTML {
        let rest = url.hasPrefix("https://") ? url.dropFirst(8) : url[...]
        let authority = rest.hasPrefix("http://") ? rest.dropFirst(7) : rest
        let path = authority.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        return "<span class=\"quiet\">\(String(rest[..<path]))</span>\(String(rest[path...]))"
    }

    // MARK: bars

    /// Returns the whole call as a thin line, which shows the waits between its hops.
    private func frame(after offset: Duration) -> HTML {
        Self.bar("frame", offset, record.duration, of: group.length, title: "")
    }

    private static func bars(_ timeline: HopTimeline, after offset: Duration, of whole: Duration) -> HTML {
        HTML(
            timeline.segments.map { segment in
                bar(
                    style(of: segment.phase),
                    offset + segment.start,
                    segment.length,
                    of: whole,
                    title: "\(segment.phase.name) \(segment.length.shortText)"
                )
            }
        )
    }

    private static func bar(_ style: HTML, _ start: Duration, _ length: Duration, of whole: Duration, title: String)
        -> HTML
    {
        guard whole > .zero else { return "" }
        let left = min(max(start / whole, 0), 1)
        return """
            <i class="\(style)" style="left:\(percent: left);width:\(percent: min(length / whole, 1 - left))" title="\(title)"></i>
            """
    }

    // MARK: details

    private var sentence: String {
        var parts = [
            "Call \(record.callID)", "started \(TrafficFigures.date(record.startTime)) UTC",
            "\(record.outcome) after \(record.duration.shortText)",
        ]
        if let head = record.timeToHead { parts.append("response head after \(head.shortText)") }
        parts.append(TrafficFigures.count(record.hops.count, "hop"))
        if record.redirects > 0 { parts.append(TrafficFigures.count(record.redirects, "redirect")) }
        if record.retries > 0 { parts.append(record.retries == 1 ? "1 retry" : "\(record.retries) retries") }
        let end = record.status == nil || record.isBodyComplete ? "" : ", not to the end"
        return parts.joined(separator: " · ") + " · \(TrafficFigures.bytes(record.bodyBytes)) read" + end
    }

    private var failure: HTML {
        guard let failure = record.failure else { return "" }
        return "<p class=\"failure\"><b>\(failure.code)</b> in the phase \(failure.phase): \(failure.message)</p>\n"
    }

    private func hop(_ index: Int) -> HTML {
        let hop = record.hops[index]
        let status = [hop.status.map(String.init), hop.reason, hop.version].compactMap { $0 }.filter { !$0.isEmpty }
        let result = status.isEmpty ? "no response" : status.joined(separator: " ")
        let story = HTML(AddressStory.sentences(of: hop).map { "<li>\($0)</li>" as HTML })
        return """
            <section class="hop"><h3><span class="quiet">Hop \(index + 1)</span> \(hop.method) \(hop.url) \
            <span class="quiet">→ \(result)</span></h3>
            \(phases(of: hop, timelines[index]))
            <ol class="story">\(story)</ol>
            <p class="quiet">\(Self.bytes(of: hop)) · route \(hop.route)</p>
            \(Self.fields("Request header", hop.requestFields))\(Self.fields("Response header", hop.responseFields))</section>

            """
    }

    /// Returns a line for each phase, on the axis of the call. A phase of connecting without a time has no bar.
    private func phases(of hop: HTTPDNSTrafficMonitor.Hop, _ timeline: HopTimeline) -> HTML {
        var html: HTML = "<div class=\"phases\">"
        for phase in HopTimeline.Phase.allCases {
            let segment = timeline.segments.first { $0.phase == phase }
            guard segment != nil || isExpected(phase, of: hop) else { continue }
            let bar = segment.map {
                Self.bar(Self.style(of: phase), $0.start, $0.length, of: record.duration, title: "")
            }
            let time = segment?.length.shortText ?? (hop.reusedConnection ? "reused connection" : "–")
            html += """
                <span class="name">\(phase.name)</span><span class="bar">\(bar ?? "")</span>\
                <span class="time">\(time)</span>
                """
        }
        html += "</div>"
        return html
    }

    /// Whether a reader looks for the phase, also when it did not happen.
    private func isExpected(_ phase: HopTimeline.Phase, of hop: HTTPDNSTrafficMonitor.Hop) -> Bool {
        guard !hop.isAnsweredInProcess, !hop.isMerged else { return false }
        switch phase {
        case .blocked, .race, .receive: return false
        case .tls: return hop.url.hasPrefix("https:")
        case .resolve, .connect, .wait: return true
        }
    }

    private static func bytes(of hop: HTTPDNSTrafficMonitor.Hop) -> String {
        func text(_ bytes: Int64?) -> String { bytes.map { TrafficFigures.bytes($0) } ?? "unknown" }
        let bytes = hop.bytes
        var parts = ["sent: head \(text(bytes.requestHead)), body \(text(bytes.requestBody))"]
        parts.append("received: head \(text(bytes.responseHead)), body \(text(bytes.responseBody))")
        if let decoded = bytes.decodedBody, decoded != bytes.responseBody {
            parts.append("decoded body \(text(decoded))")
        }
        return parts.joined(separator: " · ")
    }

    private static func fields(_ title: String, _ fields: HTTPFields) -> HTML {
        guard !fields.isEmpty else { return "" }
        let rows = HTML(
            fields.prefix(maximumFields).map { field in
                "<tr><th scope=\"row\">\(field.name.rawName)</th><td class=\"text\">\(field.value)</td></tr>\n" as HTML
            }
        )
        let omitted: HTML =
            fields.count > maximumFields
            ? "<p class=\"quiet\">\(TrafficFigures.count(fields.count - maximumFields)) more fields are left out.</p>"
            : ""
        return """
            <details class="more"><summary>\(title) <span class="quiet">\(TrafficFigures.count(fields.count, "field"))</span>\
            </summary><table class="fields"><tbody>
            \(rows)</tbody></table>\(omitted)</details>

            """
    }

    private var bodies: HTML {
        HTML([Self.body("Request body", record.requestBody), Self.body("Response body", record.responseBody)])
    }

    private static func body(_ title: String, _ body: HTTPDNSTrafficMonitor.Body?) -> HTML {
        guard let body else { return "" }
        var notes = [body.mediaType ?? "no media type"]
        if let length = body.length { notes.append("\(TrafficFigures.count(length)) bytes") }
        if body.base64 != nil { notes.append("binary, in base64") }
        if body.isTruncated, body.withheld == nil { notes.append("only the start is stored") }
        let text = body.text ?? body.base64 ?? ""
        if text.unicodeScalars.count > maximumBody { notes.append("only the start is shown") }
        let content: HTML =
            body.withheld.map { "<p>Not stored: \($0.description).</p>" }
            ?? "<pre>\(lines: text, limit: maximumBody)</pre>"
        return """
            <details class="more"><summary>\(title) <span class="quiet">\(notes.joined(separator: ", "))</span></summary>\
            \(content)</details>

            """
    }
}
