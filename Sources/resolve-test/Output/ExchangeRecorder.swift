// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The heads of the responses of a call, and the method of its last request: redirects, refused logins and retries included.
final class ExchangeRecorder: HTTPDNSClient.Interceptor {
    private struct Record {
        var method: HTTPRequest.Method
        var head: String
    }

    private let records = Lock<[Record]>([])

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        let response = try await next(request, context)
        let record = Record(method: request.method, head: HeadText.text(response))
        records.withLock { $0.append(record) }
        return response
    }

    /// The heads before the last one.
    var earlierHeads: [String] { records.withLock { $0.dropLast().map(\.head) } }

    /// The method of the last request; nil when nothing was sent.
    var lastMethod: HTTPRequest.Method? { records.withLock { $0.last?.method } }
}

extension WriteOut.Values {
    /// Takes the values of a response.
    mutating func take(
        _ response: HTTPDNSClient.Response,
        received: Int,
        total: Duration,
        _ recorder: ExchangeRecorder,
        _ settings: ClientSettings
    ) {
        let summary = response.body.summary
        let size = summary?.wireBytes ?? received
        let seconds = total / .seconds(1)
        setHeaderFields(response.headerFields)
        self["http_code"] = .status(response.status.code)
        self["response_code"] = .status(response.status.code)
        self["http_version"] = .text(Self.text(response.version))
        self["content_type"] = .text(response.headerFields[.contentType])
        self["num_headers"] = .integer(response.headerFields.count)
        self["num_redirects"] = .integer(max(0, response.exchanges.count - 1))
        self["num_connects"] = .integer(response.exchanges.count { !$0.reusedConnection })
        self["size_download"] = .integer(size)
        self["speed_download"] = .integer(seconds > 0 ? Int(Double(size) / seconds) : 0)
        self["time_total"] = .seconds(seconds)
        if let method = recorder.lastMethod { self["method"] = .text(method.rawValue) }
        guard let exchange = response.exchanges.last else { return }
        let url = exchange.request.canonicalURL
        self["url_effective"] = .text(url)
        self["scheme"] = .text(url.prefix { $0 != ":" }.uppercased())
        self["remote_ip"] = .text(exchange.remote.address.description)
        self["remote_port"] = .integer(Int(exchange.remote.port))
        let trust = settings.configuration.trust(forHost: exchange.request.serverName ?? "")
        self["ssl_verify_result"] = .integer(exchange.tls == nil || trust.verification == .chainAndName ? 0 : 1)
        if (301...308).contains(response.status.code), let location = response.headerFields[.location],
            let target = try? ParsedURL(url).following(location)
        {
            self["redirect_url"] = .text(target.description)
        }
        take(summary?.timings ?? exchange.timings, resolve: exchange.resolve)
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
