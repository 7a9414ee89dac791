// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The page of a report around its calls: the head, the sums, and the tables.
struct ReportPage {
    /// The most rows of a table.
    static let maximumRows = 50

    private let summary: TrafficSummary
    /// The number of calls in the waterfall.
    private let drawn: Int

    init(_ summary: TrafficSummary, drawn: Int) {
        self.summary = summary
        self.drawn = drawn
    }

    /// The page up to the first call.
    var beginning: HTML {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="referrer" content="no-referrer">
        <title>HTTP traffic</title>
        <style>
        \(ReportStyle.sheet)
        </style>
        </head>
        <body>
        <header>
        <h1>HTTP traffic</h1>
        <p class="quiet">\(spanText)</p>
        </header>
        <main>
        \(tiles)
        <div class="grid">
        \(latencyCard)
        \(trafficCard)
        \(errorCard)
        </div>
        \(callsHeading)

        """
    }

    /// The page after the last call.
    static let end: HTML = """
        </section>
        </main>
        <footer class="quiet">swift-httpdns traffic monitor. This page has no script and loads nothing.</footer>
        </body>
        </html>

        """

    private var spanText: String {
        guard let span = summary.span else { return "No call is recorded." }
        let length = Duration.milliseconds(span.upperBound.subtractingSaturated(span.lowerBound)).shortText
        return "\(TrafficFigures.date(span.lowerBound)) to \(TrafficFigures.timeOfDay(span.upperBound)) UTC, \(length)"
    }

    // MARK: sums

    private var tiles: HTML {
        let (calls, traffic) = (summary.counters.calls, summary.counters.traffic)
        let httpErrors = traffic.clientErrors + traffic.serverErrors
        var tiles: HTML = "<section class=\"tiles\" aria-label=\"Summary\">\n"
        tiles += tile("Calls", TrafficFigures.count(calls.calls), callsNote)
        tiles += tile(
            "Requests",
            TrafficFigures.count(traffic.requests),
            "\(TrafficFigures.count(calls.hops, "hop")), \(TrafficFigures.count(traffic.answeredInProcess)) in this process"
        )
        tiles += tile(
            "Failed calls",
            TrafficFigures.count(calls.failed),
            "\(TrafficFigures.percent(calls.failed, of: calls.calls)) of calls, "
                + "\(TrafficFigures.count(calls.canceled)) canceled",
            isBad: calls.failed > 0
        )
        tiles += tile(
            "HTTP errors",
            TrafficFigures.count(httpErrors),
            "\(TrafficFigures.count(traffic.clientErrors)) × 4xx, \(TrafficFigures.count(traffic.serverErrors)) × 5xx",
            isBad: httpErrors > 0
        )
        if let latencies = summary.calls {
            tiles += tile(
                "Duration of a call",
                latencies.median.shortText,
                "median; p99 \(latencies.percentile99.shortText)"
            )
        }
        tiles += tile(
            "Sent",
            TrafficFigures.bytes(traffic.bytesUp),
            Self.parts(traffic.requestHeadBytes, traffic.requestBodyBytes)
        )
        tiles += tile(
            "Received",
            TrafficFigures.bytes(traffic.bytesDown),
            Self.parts(traffic.responseHeadBytes, traffic.responseBodyBytes)
        )
        tiles += "</section>"
        return tiles
    }

    private var callsNote: String {
        summary.recordCount == summary.counters.calls.calls
            ? "all with a record" : "\(TrafficFigures.count(summary.recordCount)) with a record"
    }

    private static func parts(_ head: Int64, _ body: Int64) -> String {
        "heads \(TrafficFigures.bytes(head)), bodies \(TrafficFigures.bytes(body))"
    }

    private func tile(_ name: String, _ value: String, _ note: String, isBad: Bool = false) -> HTML {
        """
        <div class="tile"><h2>\(name)</h2><p class="value\(isBad ? " bad" : "" as HTML)">\(value)</p>\
        <p class="quiet">\(note)</p></div>

        """
    }

    // MARK: latencies

    private var latencyCard: HTML {
        guard let calls = summary.calls else { return "" }
        var card: HTML = """
            <section class="card wide"><h2>Latency</h2>
            <div class="split"><div>
            \(Self.distribution(calls))
            </div><div>
            """
        card += Self.latencyTable("Time to the response head, by host", "Host", summary.hosts)
        card += Self.latencyTable("By route", "Route", summary.routes)
        card += "</div></div></section>"
        return card
    }

    /// Returns the distribution of the durations of calls, with its percentiles.
    private static func distribution(_ latencies: Latencies) -> HTML {
        let bins = latencies.usedBins
        let most = bins.map { latencies.bins[$0] }.max() ?? 1
        var columns: HTML = ""
        for index in bins {
            let count = latencies.bins[index]
            let title = "\(Latencies.text(ofBin: index)): \(TrafficFigures.count(count, "call"))"
            columns += """
                <div class="column" title="\(title)"><span class="quiet">\(count == 0 ? "" : TrafficFigures.count(count))</span>\
                <i style="height:\(percent: Double(count) / Double(max(most, 1)) * 0.8)"></i></div>
                """
        }
        var labels: HTML = ""
        for index in bins {
            let bound = index < Latencies.bounds.count ? Int64(clamping: Latencies.bounds[index]) : nil
            labels += "<span>\(bound.map { "≤ \(Duration.microseconds($0).shortText)" } ?? "more")</span>"
        }
        return """
            <h3>Durations of \(TrafficFigures.count(latencies.count, "call"))</h3>
            <div class="columns" role="img" aria-label="Distribution of the durations">\(columns)</div>
            <div class="labels\(bins.count > 8 ? " many" : "" as HTML) quiet" aria-hidden="true">\(labels)</div>
            <dl class="percentiles">
            <div><dt>p50</dt><dd>\(latencies.median.shortText)</dd></div>
            <div><dt>p90</dt><dd>\(latencies.percentile90.shortText)</dd></div>
            <div><dt>p99</dt><dd>\(latencies.percentile99.shortText)</dd></div>
            <div><dt>max</dt><dd>\(latencies.maximum.shortText)</dd></div>
            </dl>
            """
    }

    private static func latencyTable(_ title: String, _ name: String, _ groups: [TrafficSummary.Group]) -> HTML {
        guard !groups.isEmpty else { return "" }
        let slowest = groups.map(\.latencies.percentile99).max() ?? .zero
        var rows: HTML = ""
        for group in groups.prefix(maximumRows) {
            let latencies = group.latencies
            rows += """
                <tr><th scope="row">\(group.name)</th><td>\(TrafficFigures.count(latencies.count))</td>\
                <td>\(latencies.median.shortText)</td><td>\(latencies.percentile90.shortText)</td>\
                <td>\(latencies.percentile99.shortText)</td><td>\(latencies.maximum.shortText)</td>\
                <td class="picture">\(spread(latencies, of: slowest))</td></tr>

                """
        }
        return """
            <h3>\(title)</h3>
            <div class="scroll"><table><thead><tr><th>\(name)</th><th>Responses</th><th>p50</th><th>p90</th><th>p99</th>\
            <th>max</th><th class="picture">p50 · p90 · p99</th></tr></thead><tbody>
            \(rows)</tbody></table></div>
            \(omitted(groups.count, name.lowercased() + "s"))
            """
    }

    /// Returns a line from zero to the 99th percentile, with marks at the percentiles, drawn by SVG.
    private static func spread(_ latencies: Latencies, of whole: Duration) -> HTML {
        func share(_ duration: Duration) -> Double { whole > .zero ? duration / whole : 0 }
        return """
            <svg class="spread" width="100%" height="12" aria-hidden="true">\
            <rect class="track" x="0" y="5" width="100%" height="2"/>\
            <rect class="range" x="0" y="4" width="\(percent: share(latencies.percentile99))" height="4" rx="2"/>\
            <rect class="range9" x="0" y="3" width="\(percent: share(latencies.percentile90))" height="6" rx="3"/>\
            <rect class="range5" x="0" y="2" width="\(percent: share(latencies.median))" height="8" rx="4"/></svg>
            """
    }

    private static func omitted(_ count: Int, _ noun: String) -> HTML {
        guard count > maximumRows else { return "" }
        return "<p class=\"quiet\">\(TrafficFigures.count(count - maximumRows)) more \(noun) are left out.</p>"
    }

    // MARK: traffic

    private var trafficCard: HTML {
        let hosts = summary.counters.hosts.sorted {
            ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key)
        }
        guard !hosts.isEmpty else { return "" }
        let most = hosts.map { max($0.value.bytesUp, $0.value.bytesDown) }.max() ?? 0
        func share(_ bytes: Int64) -> Double { most > 0 ? Double(bytes) / Double(most) : 0 }
        var rows: HTML = ""
        for (host, traffic) in hosts.prefix(Self.maximumRows) {
            let errors = traffic.clientErrors + traffic.serverErrors
            rows += """
                <tr><th scope="row">\(host)</th><td>\(TrafficFigures.count(traffic.requests))</td>\
                <td\(errors > 0 ? " class=\"bad\"" : "" as HTML)>\(TrafficFigures.count(errors))</td>\
                <td\(traffic.failed > 0 ? " class=\"bad\"" : "" as HTML)>\(TrafficFigures.count(traffic.failed))</td>\
                <td>\(TrafficFigures.bytes(traffic.bytesUp))</td><td>\(TrafficFigures.bytes(traffic.bytesDown))</td>\
                <td class="picture"><div class="updown" aria-hidden="true">\
                <i class="up" style="width:\(percent: share(traffic.bytesUp))"></i>\
                <i class="down" style="width:\(percent: share(traffic.bytesDown))"></i></div></td></tr>

                """
        }
        return """
            <section class="card\(summary.errors.isEmpty ? " wide" : "" as HTML)"><h2>Traffic by host</h2>
            <div class="scroll"><table><thead><tr><th>Host</th><th>Requests</th><th>4xx, 5xx</th><th>Failed</th><th>Up</th>\
            <th>Down</th><th class="picture"><span class="key up">up</span> <span class="key down">down</span></th></tr></thead>\
            <tbody>
            \(rows)</tbody></table></div>
            \(Self.omitted(hosts.count, "hosts"))
            </section>
            """
    }

    private var errorCard: HTML {
        guard !summary.errors.isEmpty else { return "" }
        var rows: HTML = ""
        for error in summary.errors.prefix(Self.maximumRows) {
            rows += """
                <tr><th scope="row">\(error.kind)</th><td>\(TrafficFigures.count(error.count))</td><td class="text">\(error.host)\
                <div class="quiet">\(error.message)</div></td><td>\(TrafficFigures.timeOfDay(error.newest))</td></tr>

                """
        }
        return """
            <section class="card"><h2>Errors</h2>
            <div class="scroll"><table class="errors"><thead><tr><th>Error</th><th>Count</th><th class="text">Host, newest message</th>\
            <th>Newest</th></tr></thead><tbody>
            \(rows)</tbody></table></div>
            \(Self.omitted(summary.errors.count, "kinds of errors"))
            </section>
            """
    }

    // MARK: calls

    private var callsHeading: HTML {
        let isCut = drawn < summary.recordCount
        let note =
            isCut
            ? "The newest \(TrafficFigures.count(drawn)) of \(TrafficFigures.count(summary.recordCount)) recorded calls. "
                + "The figures above are about all of them."
            : TrafficFigures.count(drawn, "call") + "."
        let key = HTML(
            HopTimeline.Phase.allCases.map { "<span class=\"key \(ReportCall.style(of: $0))\">\($0.name)</span> " }
        )
        return """
            <section class="card wide" aria-label="Calls"><h2>Calls</h2>
            <p class="quiet">\(note) Open a call for its hops, addresses, header fields and bodies.</p>
            <p class="keys">\(key)</p>
            """
    }
}
