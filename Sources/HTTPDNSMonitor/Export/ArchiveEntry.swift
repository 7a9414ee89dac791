// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes

/// An entry of a HAR file with the member `_httpdns`: the call, the source of the address and the failure of its hop.
struct ArchiveEntry: Encodable {
    private enum Key: String, CodingKey {
        // The format reserves names with an underscore for programs.
        case facts = "_httpdns"
    }

    private enum Fact: String, CodingKey {
        case callID, hop, route, source, provider, mapping, age, candidates, failedAttempts, endpoint, tls
        case reusedConnection, isAnsweredInProcess, failure
    }

    private let entry: HTTPArchive.Entry
    private let hop: HTTPDNSTrafficMonitor.Hop
    private let callID: UInt64
    private let failure: HTTPDNSTrafficMonitor.Failure?

    /// Returns an entry for each hop of a call.
    static func entries(of record: HTTPDNSTrafficMonitor.Record) -> [ArchiveEntry] {
        zip(HTTPArchive.Entry.entries(of: record), record.hops).enumerated().map { index, entry in
            // The error of a body is that of the call.
            let failure = entry.1.failure ?? (index == record.hops.count - 1 ? record.failure : nil)
            return ArchiveEntry(entry: entry.0, hop: entry.1, callID: record.callID, failure: failure)
        }
    }

    func encode(to encoder: any Encoder) throws {
        try entry.encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        var facts = members.nestedContainer(keyedBy: Fact.self, forKey: .facts)
        try facts.encode(callID, forKey: .callID)
        try facts.encode(hop.number, forKey: .hop)
        try facts.encode(hop.route, forKey: .route)
        try facts.encodeIfPresent(hop.addresses.source, forKey: .source)
        try facts.encodeIfPresent(hop.addresses.provider, forKey: .provider)
        try facts.encodeIfPresent(hop.addresses.mapping, forKey: .mapping)
        try facts.encodeIfPresent(hop.addresses.age, forKey: .age)
        try facts.encode(hop.addresses.candidates, forKey: .candidates)
        let attempts = hop.addresses.attempts.map { "\($0.endpoint) \($0.phase): \($0.failure)" }
        try facts.encode(attempts, forKey: .failedAttempts)
        try facts.encodeIfPresent(hop.addresses.endpoint, forKey: .endpoint)
        try facts.encodeIfPresent(hop.tls.map { "\($0.version) \($0.cipherSuite)" }, forKey: .tls)
        try facts.encode(hop.reusedConnection, forKey: .reusedConnection)
        try facts.encode(hop.isAnsweredInProcess, forKey: .isAnsweredInProcess)
        try facts.encodeIfPresent(failure.map { "\($0.code)/\($0.phase): \($0.message)" }, forKey: .failure)
    }
}

// The entries of a HAR file, see http://www.softwareishard.com/blog/har-12-spec/.
extension HTTPArchive.Entry {
    /// Returns an entry for each hop of a call.
    static func entries(of record: HTTPDNSTrafficMonitor.Record) -> [HTTPArchive.Entry] {
        record.hops.enumerated().map { index, hop in
            entry(hop, isLast: index == record.hops.count - 1, of: record)
        }
    }

    /// - Parameter isLast: Whether the caller got the response of the hop, with its body.
    private static func entry(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        of record: HTTPDNSTrafficMonitor.Record
    ) -> HTTPArchive.Entry {
        let timings = timings(of: hop, isLast: isLast, of: record)
        return HTTPArchive.Entry(
            startedDateTime: HTTPArchive.dateText(of: record.startTime.addingSaturated(hop.offset.wholeMilliseconds)),
            time: timings.sum,
            request: request(of: hop, record),
            response: response(of: hop, isLast: isLast, record),
            timings: timings,
            serverIPAddress: hop.addresses.endpoint.map(address)
        )
    }

    private static func request(
        of hop: HTTPDNSTrafficMonitor.Hop,
        _ record: HTTPDNSTrafficMonitor.Record
    ) -> HTTPArchive.Request {
        let query = hop.url.firstIndex(of: "?").map { hop.url[hop.url.index(after: $0)...] } ?? ""
        var request = HTTPArchive.Request(
            method: hop.method,
            url: hop.url,
            httpVersion: hop.version ?? "",
            headers: pairs(hop.requestFields),
            queryString: FormItems.items(of: String(query)).map { HTTPArchive.Pair($0.name, $0.value) },
            bodySize: hop.bytes.requestBody ?? -1
        )
        request.headersSize = hop.bytes.requestHead ?? -1
        // A redirect may have dropped the body.
        let callers = hop.method == record.method ? record.requestBody : nil
        if let body = hop.requestBody ?? callers, let text = body.text, !text.isEmpty, hop.bytes.requestBody != 0 {
            request.postData = HTTPArchive.PostData(mimeType: body.mediaType ?? "", text: text)
        }
        return request
    }

    private static func response(
        of hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        _ record: HTTPDNSTrafficMonitor.Record
    ) -> HTTPArchive.Response {
        let size = isLast ? record.bodyBytes : hop.bytes.decodedBody ?? hop.bytes.responseBody ?? 0
        var content = HTTPArchive.Content(size: size, mimeType: hop.responseFields.singleton(.contentType)?.value ?? "")
        if isLast, let body = record.responseBody {
            content.text = body.text ?? body.base64
            content.encoding = body.base64 == nil ? nil : "base64"
            content.isIncomplete = body.isTruncated || body.withheld != nil ? true : nil
        }
        var response = HTTPArchive.Response(
            // 0 stands for no response, as in the files of browsers.
            status: hop.status ?? 0,
            statusText: hop.reason,
            httpVersion: hop.version ?? "",
            headers: pairs(hop.responseFields),
            content: content,
            redirectURL: hop.responseFields.singleton(.location)?.uriReference ?? "",
            bodySize: hop.bytes.responseBody ?? -1
        )
        response.headersSize = hop.bytes.responseHead ?? -1
        return response
    }

    private static func timings(
        of hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        of record: HTTPDNSTrafficMonitor.Record
    ) -> HTTPArchive.Timings {
        let timeline = HopTimeline(hop, isLast: isLast, of: record)
        func milliseconds(_ phase: HopTimeline.Phase) -> Double? { timeline[phase]?.inMilliseconds }
        // The time of TLS is part of the time for connecting.
        let connect = milliseconds(.connect).map { $0 + (milliseconds(.tls) ?? 0) }
        return HTTPArchive.Timings(
            blocked: hop.duration == nil ? -1 : (milliseconds(.blocked) ?? 0) + (milliseconds(.race) ?? 0),
            dns: milliseconds(.resolve) ?? -1,
            connect: connect ?? -1,
            ssl: milliseconds(.tls) ?? -1,
            send: 0,
            wait: milliseconds(.wait) ?? 0,
            receive: milliseconds(.receive) ?? 0
        )
    }

    private static func pairs(_ fields: HTTPFields) -> [HTTPArchive.Pair] {
        fields.map { HTTPArchive.Pair($0) }
    }

    /// Returns the address of an endpoint: `203.0.113.7` of `203.0.113.7:443`.
    private static func address(_ endpoint: String) -> String {
        let address = endpoint.lastIndex(of: ":").map { endpoint[..<$0] } ?? endpoint[...]
        return address.filter { $0 != "[" && $0 != "]" }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 { Int64(inMilliseconds) }
}
