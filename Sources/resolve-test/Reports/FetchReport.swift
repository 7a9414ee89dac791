internal import HTTPDNS
internal import HTTPDNSCurl

/// The report of `fetch`: each hop with its phases.
struct FetchReport {
    /// A request and its response.
    struct Hop {
        var rewrite: RewriteView
        var remote: HTTPDNSEndpoint
        var reusedConnection: Bool
        /// Whether the host had to prove its name, by its trust settings.
        var isVerified = true
        var version: String
        var status: Int
        /// The media type, as the server sent it.
        var contentType: String?
        /// The target of a redirect.
        var location: String?
        /// The header fields that a redirect removed before this hop.
        var droppedFields: [String] = []
        var resolve: Duration?
        var timings: HTTPDNSClient.Exchange.Timings
    }

    var hops: [Hop]
    var bodyBytes: Int
    var wireBytes: Int
    /// From the call until the last byte, resolving included.
    var total: Duration
    /// Header fields, with `--include`.
    var headerFields: [(name: String, value: String)]?
    var providerKinds: [String: String]

    func json() -> JSONValue {
        guard let hop = hops.last else { return .object([]) }
        var members = hop.rewrite.members
        members += [
            ("status", .integer(hop.status)),
            ("httpVersion", .text(hop.version)),
            ("remoteAddress", .text(EndpointText.text(hop.remote, urlPort: hop.rewrite.urlPort))),
            ("bodyBytes", .integer(bodyBytes)),
            ("wireBytes", .integer(wireBytes)),
            (
                "timings",
                .object([
                    ("resolve", .seconds(hop.resolve)),
                    ("connect", .seconds(hop.timings.connect)),
                    ("tls", .seconds(hop.timings.tls)),
                    ("firstByte", .seconds(hop.timings.firstByte)),
                    ("total", .seconds(total)),
                ])
            ),
        ]
        if hops.count > 1 { members.append(("hops", .array(hops.map(json)))) }
        if let headerFields {
            members.append(
                (
                    "headerFields",
                    .array(headerFields.map { .array([.text($0.name), .text($0.value)]) })
                )
            )
        }
        return .object(members)
    }

    private func json(_ hop: Hop) -> JSONValue {
        .object([
            ("url", .text(hop.rewrite.originalURL)), ("status", .integer(hop.status)),
            ("remoteAddress", .text(EndpointText.text(hop.remote, urlPort: hop.rewrite.urlPort))),
            ("location", hop.location.map(JSONValue.text) ?? .null),
            ("droppedFields", .array(hop.droppedFields.map(JSONValue.text))),
        ])
    }

    func text(_ screen: Screen) -> String {
        let blocks = hops.enumerated().map { index, hop in
            text(hop, number: index + 1, isLast: index == hops.count - 1, screen)
        }
        return blocks.joined() + summary(screen)
    }

    private func text(_ hop: Hop, number: Int, isLast: Bool, _ screen: Screen) -> String {
        var answer = ["\(hop.status)", hop.version]
        if isLast { answer.append(Figures.bytes(bodyBytes)) }
        if let type = hop.contentType, !type.isEmpty { answer.append(PrintableText.line(type)) }
        let arrow =
            "-> \(hop.location.map { "\(hop.status) \(PrintableText.line($0))" } ?? answer.joined(separator: ", "))"
        let head = LabelledLine.text(
            "hop \(number)",
            ["\(PrintableText.line(hop.rewrite.originalURL)) \(arrow)"],
            labelWidth: PhaseBars.margin,
            screen: screen
        )
        let bars = PhaseBars(phases(hop, isLast: isLast))
        return head + bars.text(screen)
    }

    private func phases(_ hop: Hop, isLast: Bool) -> [PhaseBars.Phase] {
        let words = ResolutionText(resolution: hop.rewrite.resolution, providerKinds: providerKinds)
        var phases: [PhaseBars.Phase] = []
        let route = [words.source, words.freshness, words.lifetime].joined(separator: ", ")
        let evidence = [route, hop.rewrite.resolution.rule?.location?.description ?? "", words.failures]
        phases.append(.init("resolve", hop.resolve, evidence.filter { !$0.isEmpty }.joined(separator: "  ")))
        let reused = hop.reusedConnection ? ", reused connection" : ""
        phases.append(.init("connect", hop.timings.connect, "\(hop.remote)\(reused)"))
        if hop.rewrite.isTLS {
            let name = hop.rewrite.serverName.map { "SNI \($0), " } ?? "no SNI, "
            phases.append(
                .init("tls", hop.timings.tls, name + "certificate \(hop.isVerified ? "verified" : "NOT verified")")
            )
        }
        phases.append(.init("reply", hop.timings.firstByte, "\(hop.status), \(hop.version)"))
        if isLast, bodyBytes > 0 || wireBytes > 0 {
            let wire = wireBytes == bodyBytes ? "" : ", \(Figures.bytes(wireBytes)) on the wire"
            phases.append(.init("body", bodyTime(hop), Figures.bytes(bodyBytes) + wire))
        }
        return phases
    }

    /// Returns the rest of the transfer time without connecting, TLS and waiting.
    private func bodyTime(_ hop: Hop) -> Duration? {
        guard let whole = hop.timings.total else { return nil }
        let before = [hop.timings.connect, hop.timings.tls, hop.timings.firstByte].compactMap { $0 }.reduce(.zero, +)
        return max(.zero, whole - before)
    }

    private func summary(_ screen: Screen) -> String {
        let asked = hops.filter { !$0.rewrite.resolution.isCached && $0.rewrite.isAsked }.count
        var segments = [Figures.phase(total)]
        segments.append("\(asked) of \(hops.count) \(hops.count == 1 ? "hop" : "hops") looked up")
        let dropped = hops.flatMap(\.droppedFields)
        if !dropped.isEmpty { segments.append("dropped on redirect: \(dropped.joined(separator: ", "))") }
        if let proof { segments.append(proof) }
        let status = hops.last?.status ?? 0
        let mark = (200..<400).contains(status) ? screen.style.good("ok") : screen.style.bad("x ")
        var rest = screen
        rest.width = screen.width == .max ? .max : screen.width - 3
        return mark + " " + LabelledLine.text("total", segments, labelWidth: PhaseBars.margin, screen: rest)
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
}
