// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPDNSMonitor
internal import HTTPTypes

/// The heads of requests and responses, as `curl -v` prints them. Secrets are those of the traffic monitor, which never stores
/// them.
enum HopTrace {
    /// Returns the lines: `*` for the connection, `>` for a request, `<` for a response.
    /// - Parameters:
    ///   - connections: The connection of each hop, also of one without a response.
    ///   - version: The version of requests over HTTP/1.
    static func text(
        _ records: [HTTPDNSTrafficMonitor.Record],
        connections: [TransferNotes.Attempt?],
        version: HTTPDNSClient.HTTPVersion
    ) -> String {
        var lines: [String] = []
        for (index, hop) in records.flatMap(\.hops).enumerated() where !hop.isAnsweredInProcess {
            lines += connection(hop, index < connections.count ? connections[index] : nil)
            if hop.status != nil || (hop.bytes.requestHead ?? 0) > 0 {
                lines += request(hop, version).map { "> \($0)" } + [">"]
            }
            if hop.status != nil { lines += response(hop).map { "< \($0)" } + ["<"] }
        }
        return lines.map { PrintableText.line($0) + "\n" }.joined()
    }

    private static func connection(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        _ connection: TransferNotes.Attempt?
    ) -> [String] {
        var lines: [String] = []
        if let endpoint = hop.addresses.endpoint ?? connection.map({ "\($0.endpoint)" }) {
            let isReused = hop.reusedConnection || connection?.opensConnection == false
            lines.append("* \(isReused ? "reused connection to" : "connected to") \(endpoint)")
        }
        let tls = hop.tls.map { ($0.version, $0.cipherSuite) } ?? connection?.tls.map { ($0.version, $0.cipherSuite) }
        if let tls { lines.append("* TLS: \(tls.0), \(tls.1)") }
        guard let certificate = connection?.peerCertificates.first else { return lines }
        lines.append("* certificate: subject \(certificate.subject); issuer \(certificate.issuer)")
        lines.append("* certificate: valid from \(certificate.begins) to \(certificate.expires)")
        if !certificate.names.isEmpty {
            lines.append("* certificate: names \(certificate.names.joined(separator: ", "))")
        }
        return lines
    }

    private static func request(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        _ version: HTTPDNSClient.HTTPVersion
    ) -> [String] {
        let rest = hop.url.drop { $0 != ":" }.dropFirst("://".count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest.dropFirst(authority.count)
        // The record has the version of the response, which a server of HTTP/1.0 lowers. Without one it is not known.
        let known = isHTTP2(hop) ? HTTPDNSClient.HTTPVersion.http2 : version
        let end = hop.version == nil ? "" : " \(known)"
        var lines = ["\(hop.method) \(target.hasPrefix("/") ? "" : "/")\(target)\(end)"]
        if !hop.requestFields.contains(where: { $0.name.canonicalName == "host" }) {
            lines.append("Host: \(authority)")
        }
        return lines + fields(hop.requestFields, hop)
    }

    private static func response(_ hop: HTTPDNSTrafficMonitor.Hop) -> [String] {
        let phrase = isHTTP2(hop) ? "" : " \(hop.reason)"
        let first = "\(hop.version ?? "HTTP/1.1") \(hop.status ?? 0)\(phrase)"
        return [first.trimmingTrailingBlanks()] + fields(hop.responseFields, hop)
    }

    private static func fields(_ fields: HTTPFields, _ hop: HTTPDNSTrafficMonitor.Hop) -> [String] {
        let version: HTTPDNSClient.HTTPVersion = isHTTP2(hop) ? .http2 : .http11
        return fields.map { "\(HeadText.name($0.name, version)): \(RawText.text($0))" }
    }

    private static func isHTTP2(_ hop: HTTPDNSTrafficMonitor.Hop) -> Bool {
        hop.version == "\(HTTPDNSClient.HTTPVersion.http2)"
    }
}
#endif
