internal import HTTPDNS
internal import HTTPTypes

extension FetchReport {
    /// Creates the report on a response whose body has been read.
    init(
        _ response: HTTPDNSClient.Response,
        received: Int,
        total: Duration,
        includesHead: Bool,
        settings: ClientSettings,
        client: HTTPDNSClient
    ) throws(CommandFailure) {
        let summary = response.body.summary
        var hops: [Hop] = []
        for (index, exchange) in response.exchanges.enumerated() {
            let isLast = index == response.exchanges.count - 1
            let isRedirect = [301, 302, 303, 307, 308].contains(exchange.status.code)
            let rewrite = try RewriteView(
                exchange.request,
                wayOut: (try? client.wayOut(of: exchange.request)) ?? .straight
            )
            let trust = settings.configuration.trust(forHost: rewrite.serverName ?? rewrite.urlHost)
            hops.append(
                Hop(
                    rewrite: rewrite,
                    remote: exchange.remote,
                    reusedConnection: exchange.reusedConnection,
                    isVerified: trust.verification == .chainAndName,
                    version: exchange.version.description,
                    status: exchange.status.code,
                    contentType: isLast ? response.headerFields[.contentType] : nil,
                    location: isRedirect ? Self.location(response, index) : nil,
                    droppedFields: exchange.droppedFields.map(\.rawName),
                    resolve: exchange.resolve,
                    timings: isLast ? summary?.timings ?? exchange.timings : exchange.timings
                )
            )
        }
        self.init(
            hops: hops,
            bodyBytes: summary?.bodyBytes ?? received,
            wireBytes: summary?.wireBytes ?? received,
            total: total,
            headerFields: includesHead ? response.headerFields.map { ($0.name.rawName, $0.value) } : nil,
            providerKinds: settings.providerKinds
        )
    }
}

extension FetchReport {
    /// Returns the redirect target of a hop: for all but the last one the URL of the next hop.
    private static func location(_ response: HTTPDNSClient.Response, _ index: Int) -> String? {
        guard index == response.exchanges.count - 1 else { return response.exchanges[index + 1].request.originalURL }
        return response.headerFields[.location].map(URLText.withoutUserInformation)
    }
}

/// The status line and header fields as `--include` prints them.
enum HeadText {
    static func text(_ response: HTTPDNSClient.Response) -> String {
        let phrase = response.version == .http2 ? "" : response.status.reasonPhrase
        let lines =
            ["\(response.version) \(response.status.code) \(phrase)".trimmingTrailingBlanks()]
            + response.headerFields.map { "\($0.name.rawName): \($0.value)" }
        return lines.map { PrintableText.line($0) + "\n" }.joined() + "\n"
    }
}
