// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The responses of a call, and the method of its last request: redirects, refused logins and retries included.
final class ExchangeRecorder: HTTPDNSClient.Interceptor {
    /// A response without its body.
    struct Record: Sendable {
        var method: HTTPRequest.Method
        var head: String
        var status: Int
        var version: HTTPDNSClient.HTTPVersion
        var headerFields: HTTPFields
        /// The last exchange; nil for a response without one.
        var exchange: HTTPDNSClient.Exchange?

        init(_ response: HTTPDNSClient.Response, _ method: HTTPRequest.Method) {
            (self.method, head) = (method, HeadText.text(response))
            (status, version, headerFields) = (response.status.code, response.version, response.headerFields)
            exchange = response.exchanges.last
        }

        /// Whether the client follows it, if it follows redirects.
        var isRedirect: Bool { FetchReport.redirects.contains(status) && headerFields.contains(.location) }
    }

    private let records = Lock<[Record]>([])

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        let response = try await next(request, context)
        let record = Record(response, request.method)
        records.withLock { $0.append(record) }
        return response
    }

    /// The heads before the last one.
    var earlierHeads: [String] { records.withLock { $0.dropLast().map(\.head) } }

    /// All heads.
    var heads: [String] { records.withLock { $0.map(\.head) } }

    /// The last response; nil when there was none.
    var last: Record? { records.withLock { $0.last } }

    /// The number of redirects that were followed. Retries and the challenge of a login are none.
    var redirectCount: Int { records.withLock { $0.dropLast().count(where: \.isRedirect) } }

    /// The number of connections that were made for the responses.
    var connectionCount: Int { records.withLock { $0.count { $0.exchange?.reusedConnection == false } } }
}

extension WriteOut.Values {
    /// Takes the values of a response.
    mutating func take(
        _ response: HTTPDNSClient.Response,
        received: Int,
        total: Duration,
        _ request: HTTPDNSClient.Request,
        _ recorder: ExchangeRecorder,
        _ settings: ClientSettings
    ) {
        let summary = response.body.summary
        let size = summary?.wireBytes ?? received
        let seconds = total / .seconds(1)
        let method = recorder.last?.method ?? request.method
        take(.init(response, method), total: total, recorder, settings)
        self["size_download"] = .integer(size)
        self["speed_download"] = .integer(seconds > 0 ? Int(Double(size) / seconds) : 0)
        if method == request.method { self["size_upload"] = .integer(request.body.knownLength ?? 0) }
        if let exchange = response.exchanges.last {
            take(summary?.timings ?? exchange.timings, resolve: exchange.resolve)
        }
    }

    /// Takes the values of a call that failed: its time, and the last response before the failure.
    mutating func takeFailure(
        _ error: any Error,
        total: Duration,
        _ recorder: ExchangeRecorder,
        _ settings: ClientSettings
    ) {
        self["time_total"] = .seconds(total / .seconds(1))
        guard let last = recorder.last else { return }
        take(last, total: total, recorder, settings)
        if let exchange = last.exchange { take(exchange.timings, resolve: exchange.resolve) }
        let code = (error as? HTTPDNSClientError)?.code
        let isRefused = code == .tooManyRedirects || code == .redirectLoop || code == .redirectRefused
        // The request after the last redirect failed.
        if last.isRedirect, !isRefused { self["num_redirects"] = .integer(recorder.redirectCount + 1) }
    }

    /// Takes the values of the record of the call, which is there when the call has failed, or its body has ended: the bytes of
    /// all heads, and the local end of the last connection.
    mutating func take(_ call: HTTPDNSClient.CallRecord?) {
        guard let record = call else { return }
        self["size_header"] = .integer(record.hops.reduce(0) { $0 + Int($1.responseHeadBytes ?? 0) })
        // curl counts a body in memory, which it sends together with the head, and no file.
        let hasBodyInMemory = record.details?.request.body.knownLength != nil
        self["size_request"] = .integer(
            record.hops.reduce(0) { sum, hop in
                sum + Int(hop.requestHeadBytes ?? 0) + (hasBodyInMemory ? Int(hop.requestBodyBytes ?? 0) : 0)
            }
        )
        guard let local = record.hops.last?.localEndpoint else { return }
        self["local_ip"] = .text(local.address.description)
        self["local_port"] = .integer(Int(local.port))
    }

    private mutating func take(
        _ record: ExchangeRecorder.Record,
        total: Duration,
        _ recorder: ExchangeRecorder,
        _ settings: ClientSettings
    ) {
        setHeaderFields(record.headerFields)
        self["http_code"] = .status(record.status)
        self["response_code"] = .status(record.status)
        self["http_version"] = .text(Self.text(record.version))
        self["content_type"] = .text(record.headerFields.singleton(.contentType).map { RawText.text($0) })
        self["num_headers"] = .integer(record.headerFields.count)
        self["num_redirects"] = .integer(recorder.redirectCount)
        self["num_connects"] = .integer(recorder.connectionCount)
        self["time_total"] = .seconds(total / .seconds(1))
        self["method"] = .text(record.method.rawValue)
        guard let exchange = record.exchange else { return }
        let url = exchange.request.canonicalURL
        self["url_effective"] = .text(url)
        self["scheme"] = .text(url.prefix { $0 != ":" }.uppercased())
        self["remote_ip"] = .text(exchange.remote.address.description)
        self["remote_port"] = .integer(Int(exchange.remote.port))
        let trust = settings.configuration.trust(forHost: exchange.request.serverName ?? "")
        self["ssl_verify_result"] = .integer(exchange.tls == nil || trust.verification == .chainAndName ? 0 : 1)
        if (301...308).contains(record.status), let location = record.headerFields.singleton(.location),
            let target = try? ParsedURL(url).following(location.uriReference)
        {
            self["redirect_url"] = .text(target.description)
        }
    }

    private mutating func take(_ timings: HTTPDNSClient.Exchange.Timings, resolve: Duration?) {
        let lookup = resolve ?? .zero
        let connected = lookup + (timings.race ?? .zero) + (timings.connect ?? .zero)
        let encrypted = connected + (timings.tls ?? .zero)
        self["time_namelookup"] = .seconds(lookup / .seconds(1))
        self["time_connect"] = .seconds(connected / .seconds(1))
        self["time_appconnect"] = .seconds(timings.tls == nil ? 0 : encrypted / .seconds(1))
        self["time_pretransfer"] = .seconds(encrypted / .seconds(1))
        self["time_starttransfer"] = .seconds((encrypted + (timings.firstByte ?? .zero)) / .seconds(1))
    }

    private static func text(_ version: HTTPDNSClient.HTTPVersion) -> String {
        switch version {
        case .http2: "2"
        case .http10: "1.0"
        default: "1.1"
        }
    }
}
