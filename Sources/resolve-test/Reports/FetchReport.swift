// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The report of `fetch`: each hop with its phases.
struct FetchReport {
    /// A request and its response.
    struct Hop {
        var rewrite: RewriteView
        /// The number of hops before it that the record of the call leaves out.
        var leftOut = 0
        /// The address of the connection; nil when there was none.
        var remote: HTTPDNSEndpoint?
        var reusedConnection = false
        /// Whether the host had to prove its name, by its trust settings.
        var isVerified = true
        var version = ""
        var tls: HTTPDNSClient.Exchange.TLSParameters?
        var status = 0
        /// The media type, as the server sent it.
        var contentType: String?
        var location: String?
        /// The header fields that a redirect removed before this hop.
        var droppedFields: [String] = []
        var resolve: Duration?
        var timings = HTTPDNSClient.Exchange.Timings()
        /// The phase that failed, and its time; nil for a hop with a whole response.
        var failed: Failed?
    }

    static let redirects: Set<Int> = [301, 302, 303, 307, 308]

    /// The end of a hop or a call that failed.
    struct Failed: Equatable {
        /// Such as `first-byte`, see `HTTPDNSClientError.Phase`.
        var phase: String
        var elapsed: Duration
    }

    var hops: [Hop]
    var bodyBytes: Int
    var wireBytes: Int
    /// From the call until the last byte, resolving included.
    var total: Duration
    /// Header fields, with `--include`.
    var headerFields: HTTPFields?
    var providerKinds: [String: String]
    /// The status of the response, also of one without a hop.
    var status = 0
    /// The part of the response cache; nil without one.
    var cache: CacheView?
    /// The field Content-Range of the response; nil without it.
    var contentRange: String?
    /// The end of a call that failed, with its whole time.
    var failed: Failed?

    /// The part that the response cache took.
    struct CacheView {
        /// Such as `hit`.
        var source: String
        /// The age of a stored response, in seconds.
        var age: Int?

        var text: String { age.map { "\(source), age \($0) s" } ?? source }
        var json: JSONValue { .object(["source": .text(source), "age": .optional(age)]) }
    }

    func json() -> JSONValue {
        // All objects have the same keys. Those about the origin are null when the response cache had the response.
        let unknown = RewriteView(unresolved: "", host: "", urlHost: "", urlPort: 0)
        var members = members(hops.last ?? Hop(rewrite: unknown))
        if hops.isEmpty { members = members.mapValues { _ in .null } }
        let fields = headerFields.map { fields in
            fields.map { field in
                let (text, isLatin1) = RawText.json(field)
                return JSONValue.array([.text(field.name.rawName), .text(text)] + (isLatin1 ? [.text("latin1")] : []))
            }
        }
        let leftOut = hops.reduce(0) { $0 + $1.leftOut }
        if leftOut > 0 { members["hopsLeftOut"] = .integer(leftOut) }
        return .object(
            members.adding([
                "status": .integer(hops.last?.status ?? status), "bodyBytes": .integer(bodyBytes),
                "cache": cache?.json ?? .null, "hops": .array(hops.map(json)),
                "headerFields": fields.map(JSONValue.array) ?? .null,
            ])
        )
    }

    private func members(_ hop: Hop) -> [String: JSONValue] {
        hop.rewrite.members.adding([
            "httpVersion": .text(hop.version),
            "tlsVersion": .optional(hop.tls?.version),
            "tlsCipherSuite": .optional(hop.tls?.cipherSuite),
            "remoteAddress": .optional(hop.remote.map { EndpointText.text($0, urlPort: hop.rewrite.urlPort) }),
            "wireBytes": .integer(wireBytes),
            "timings": .object([
                "resolve": .seconds(hop.resolve),
                "connect": .seconds(hop.timings.connect),
                "tls": .seconds(hop.timings.tls),
                "firstByte": .seconds(hop.timings.firstByte),
                "total": .seconds(total),
            ]),
        ])
    }

    private func json(_ hop: Hop) -> JSONValue {
        .object([
            "url": .text(hop.rewrite.originalURL), "status": .integer(hop.status),
            "remoteAddress": .optional(hop.remote.map { EndpointText.text($0, urlPort: hop.rewrite.urlPort) }),
            "location": .optional(hop.location),
            "droppedFields": .array(hop.droppedFields.map(JSONValue.text)),
        ])
    }

    func text(_ screen: Screen) -> String {
        var number = 0
        let blocks = hops.enumerated().map { index, hop in
            number += hop.leftOut + 1
            let gap = String(repeating: " ", count: PhaseBars.margin) + "\(hop.leftOut) hops left out\n"
            return (hop.leftOut > 0 ? gap : "") + text(hop, number: number, isLast: index == hops.count - 1, screen)
        }
        if let failed {
            let end = "failed in \(failed.phase) after \(Figures.phase(failed.elapsed))"
            return hops.isEmpty ? "" : blocks.joined() + screen.style.bad("x") + " \(end)\n"
        }
        return blocks.joined() + summary(screen)
    }

    private func text(_ hop: Hop, number: Int, isLast: Bool, _ screen: Screen) -> String {
        var answer = ["\(hop.status)", hop.version]
        if isLast { answer.append(Figures.bytes(bodyBytes)) }
        if let type = hop.contentType, !type.isEmpty { answer.append(PrintableText.line(type)) }
        let result = hop.location.map { "\(hop.status) \(PrintableText.line($0))" } ?? answer.joined(separator: ", ")
        let arrow = "-> \(hop.status == 0 ? "no response" : result)"
        let label = "hop \(number)"
        let head = LabelledLine.text(
            label,
            ["\(PrintableText.line(hop.rewrite.originalURL)) \(arrow)"],
            labelWidth: max(PhaseBars.margin, label.count + 1),
            screen: screen
        )
        let bars = PhaseBars(phases(hop, isLast: isLast))
        return head + bars.text(screen)
    }

    private func phases(_ hop: Hop, isLast: Bool) -> [PhaseBars.Phase] {
        var phases: [PhaseBars.Phase] = []
        /// Adds a phase of a whole response, and of any other hop one that ended or failed.
        func add(
            _ name: String,
            _ phase: HTTPDNSClientError.Phase,
            _ duration: Duration?,
            _ remark: String,
            hasEnded: Bool = false
        ) {
            if hop.failed?.phase == "\(phase)" {
                phases.append((name, duration ?? hop.failed?.elapsed, remark))
            } else if hop.failed == nil || duration != nil || hasEnded {
                phases.append((name, duration, remark))
            }
        }
        add("resolve", .resolve, hop.resolve, resolutionText(hop))
        if hop.failed != nil { add("queue", .queue, nil, "") }
        let reused = hop.reusedConnection ? ", reused connection" : ""
        let isConnected = hop.failed == nil || hop.remote != nil
        let tried = isConnected ? hop.remote.map { [$0] } ?? [] : hop.rewrite.resolution.endpoints
        let addresses = tried.map(\.description).joined(separator: ", ") + reused
        add("connect", .connect, hop.timings.connect, addresses, hasEnded: hop.remote != nil)
        if hop.rewrite.isTLS {
            let name = hop.rewrite.serverName.map { "SNI \($0)" } ?? "no SNI"
            let proof = hop.isVerified ? "certificate verified" : "certificate NOT verified"
            add("tls", .tls, hop.timings.tls, hop.failed?.phase == "tls" ? name : "\(name), \(proof)")
        }
        if hop.failed != nil { add("send", .send, nil, "") }
        let head = hop.status == 0 ? "no response" : "\(hop.status), \(hop.version)"
        add("first byte", .firstByte, hop.timings.firstByte, head)
        if isLast, failed == nil ? bodyBytes > 0 || wireBytes > 0 : hop.failed?.phase == "body" {
            let wire = wireBytes == bodyBytes ? "" : ", \(Figures.bytes(wireBytes)) on the wire"
            add("body", .body, hop.failed == nil ? bodyTime(hop) : nil, Figures.bytes(bodyBytes) + wire)
        }
        return phases
    }

    private func resolutionText(_ hop: Hop) -> String {
        guard hop.failed?.phase != "resolve" else { return "" }
        let words = ResolutionText(resolution: hop.rewrite.resolution, providerKinds: providerKinds)
        let route = [words.source, words.freshness, words.lifetime].joined(separator: ", ")
        let evidence = [route, hop.rewrite.resolution.mapping?.location?.description ?? "", words.failures]
        return evidence.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// Returns the rest of the transfer time without connecting, TLS and waiting.
    private func bodyTime(_ hop: Hop) -> Duration? {
        guard let whole = hop.timings.total else { return nil }
        let before = [hop.timings.connect, hop.timings.tls, hop.timings.firstByte].compactMap { $0 }.reduce(.zero, +)
        return max(.zero, whole - before)
    }

    private func summary(_ screen: Screen) -> String {
        let names = Set(hops.map(\.rewrite.urlHost))
        let queried = Set(hops.filter { !$0.rewrite.resolution.isCached && $0.rewrite.isAsked }.map(\.rewrite.urlHost))
        var segments = [Figures.phase(total)]
        if let cache { segments.append("response cache: \(cache.text)") }
        if !hops.isEmpty || cache == nil { segments.append("\(queried.count) of \(names.count) names queried") }
        let dropped = hops.flatMap(\.droppedFields)
        if !dropped.isEmpty { segments.append("dropped on redirect: \(dropped.joined(separator: ", "))") }
        if let proof { segments.append(proof) }
        let status = cache == nil ? hops.last?.status ?? 0 : self.status
        let mark = (200..<400).contains(status) ? "ok" : "\(status)"
        var rest = screen
        rest.width = screen.width == .max ? .max : screen.width - mark.count - 1
        return (mark == "ok" ? screen.style.good(mark) : screen.style.bad(mark)) + " "
            + LabelledLine.text("total", segments, labelWidth: PhaseBars.margin, screen: rest)
    }

    /// A text on whether the hosts have proved their names; nil where none had to.
    private var proof: String? {
        let encrypted = hops.filter(\.rewrite.isTLS)
        let unproved = encrypted.filter { !$0.isVerified }
        guard !encrypted.isEmpty else { return nil }
        guard !unproved.isEmpty else { return "certificate verified" + (hops.count > 1 ? " on every TLS hop" : "") }
        return "certificate NOT verified"
            + (hops.count > 1 ? " on \(unproved.count) of \(encrypted.count) TLS hops" : "")
    }
}

extension RewriteView {
    /// Whether a lookup was needed for the addresses.
    fileprivate var isAsked: Bool { resolution.source == .provider || resolution.source == .system }

    /// Replaces the secrets of the URL of a server.
    mutating func redactURLs() {
        originalURL = Self.redacted(originalURL)
        canonicalURL = Self.redacted(canonicalURL)
        addressURL = Self.redacted(addressURL)
    }

    static func redacted(_ url: String) -> String {
        HTTPDNSClient.Redaction.standard.url(ofServer: url)
    }
}

/// The heads of the responses of a call: redirects, refused logins and retries included.
final class HeadRecorder: HTTPDNSClient.Interceptor {
    private let list = Lock<[String]>([])

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        let response = try await next(request, context)
        list.withLock { $0.append(HeadText.text(response)) }
        return response
    }

    /// The heads, with the last one at the end.
    var heads: [String] { list.withLock { $0 } }
}

/// The status line and header fields as `--include` prints them.
enum HeadText {
    static func text(_ response: HTTPDNSClient.Response) -> String {
        let phrase = response.version == .http2 ? "" : response.status.reasonPhrase
        let lines =
            ["\(response.version) \(response.status.code) \(phrase)".trimmingTrailingBlanks()]
            + response.headerFields.map { "\(name($0.name, response.version)): \(RawText.text($0))" }
        return lines.map { PrintableText.line($0) + "\n" }.joined() + "\n"
    }
}

extension HeadText {
    /// Returns the name as it was sent: HTTP/2 has lower-case names only (RFC 9113 section 8.2.1).
    static func name(_ name: HTTPField.Name, _ version: HTTPDNSClient.HTTPVersion) -> String {
        version == .http2 ? name.canonicalName : name.rawName
    }
}

/// The phases of a request one below the other; each bar begins at the end of the previous one.
struct PhaseBars {
    /// A phase, whose duration is nil when it did not happen.
    typealias Phase = (name: String, duration: Duration?, remark: String)

    /// The column of the phases' names.
    static let margin = 7
    /// The number of marks for the whole time: fewer if the remarks would not fit beside them.
    private static let barWidths = 10...20

    private let phases: [Phase]

    init(_ phases: [Phase]) { self.phases = phases }

    func text(_ screen: Screen) -> String {
        let times = phases.map { $0.duration.map { Figures.phase($0) } ?? "-" }
        let nameWidth = phases.map(\.name.count).max() ?? 0
        let timeWidth = times.map(\.count).max() ?? 0
        let textWidth = Self.margin + nameWidth + 2 + 1 + timeWidth + 3
        let remarkWidth = phases.map(\.remark.count).max() ?? 0
        let room = screen.width == .max ? .max : screen.width - textWidth - remarkWidth
        let barWidth = min(max(room, Self.barWidths.lowerBound), Self.barWidths.upperBound)
        return zip(phases, zip(bars(width: barWidth), times)).map { phase, drawn in
            let (bar, time) = drawn
            let lead = String(repeating: " ", count: Self.margin) + phase.name.padded(to: nameWidth) + "  "
            // Only the marks are colored, so that blanks count as blanks.
            let marks = bar.drop { $0 == " " }
            let blanks = String(bar.prefix(bar.count - marks.count))
            let painted =
                blanks + screen.style.bar(String(marks))
                + String(repeating: " ", count: barWidth - bar.count)
            let numbers = " " + time.paddedLeft(to: timeWidth)
            guard !phase.remark.isEmpty else { return (lead + painted + numbers).trimmingTrailingBlanks() + "\n" }
            let isNarrow = textWidth + barWidth + phase.remark.count > screen.width
            let separator = isNarrow ? "\n" + String(repeating: " ", count: Self.margin + 2) : "   "
            let room = isNarrow ? screen.width - Self.margin - 2 : .max
            let remark = FoldedText.parts(phase.remark, width: room).joined(separator: separator)
            return lead + painted + numbers + separator + remark + "\n"
        }.joined()
    }

    /// Returns the bars. Each phase that happened has at least one mark.
    private func bars(width: Int) -> [String] {
        let seconds = phases.map { max(0, ($0.duration ?? .zero) / .seconds(1)) }
        let whole = seconds.reduce(0, +)
        var elapsed = 0.0
        return zip(phases, seconds).map { phase, time in
            defer { elapsed += time }
            guard phase.duration != nil, whole > 0 else { return "" }
            let start = min(Int((elapsed / whole * Double(width)).rounded()), width - 1)
            let end = Int(((elapsed + time) / whole * Double(width)).rounded())
            let length = min(max(1, end - start), width - start)
            return String(repeating: " ", count: start) + String(repeating: "#", count: length)
        }
    }
}
#endif
