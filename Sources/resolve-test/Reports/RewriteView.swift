internal import HTTPDNS
internal import HTTPDNSCurl

/// The parts of a rewritten request that the reports need.
struct RewriteView: Sendable {
    var originalURL: String
    var canonicalURL: String
    var addressURL: String
    /// The Host field as sent.
    var host: String
    /// The name for SNI and the certificate; nil for clear text and literals.
    var serverName: String?
    /// The value of curl's `--resolve`; empty without addresses.
    var resolveEntry: String
    var resolution: HTTPDNSResolver.Resolution
    var isTagged: Bool
    /// The host and port of the canonical URL.
    var urlHost: String
    var urlPort: UInt16
    /// The proxy or Unix socket of the request.
    var wayOut = EgressChoice.straight

    var isTLS: Bool { canonicalURL.hasPrefix("https://") }

    /// The members of `explain --json`, in the order of Docs/CommandLine.md.
    var members: [(name: String, value: JSONValue)] {
        [
            ("originalURL", .text(originalURL)),
            ("addressURL", .text(addressURL)),
            ("host", .text(host)),
            ("serverName", .optional(serverName)),
            ("resolveEntry", resolveEntry.isEmpty ? .null : .text(resolveEntry)),
        ] + ResolutionJSON.members(resolution, urlPort: urlPort) + [("tagged", .bool(isTagged))]
    }
}

extension RewriteView {
    init(_ request: HTTPDNSRewriter.RewrittenRequest, wayOut: EgressChoice) throws(CommandFailure) {
        let url: ParsedURL
        do {
            url = try ParsedURL(request.canonicalURL)
        } catch {
            throw .usage("\(error)")
        }
        self.init(
            originalURL: request.originalURL,
            canonicalURL: request.canonicalURL,
            addressURL: request.addressURL,
            host: request.host,
            serverName: request.serverName,
            resolveEntry: request.resolveEntry,
            resolution: request.resolution,
            isTagged: request.tag != nil,
            urlHost: url.hostText,
            urlPort: url.port,
            wayOut: wayOut
        )
    }
}
