// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Tracing

/// The names of spans. They contain neither a host nor a path, so that their number is small.
enum SpanName {
    static let call = "HTTP call"
    static let lookup = "DNS lookup"
    static let connection = "HTTP connection setup"

    /// Returns the name of the span of a request.
    static func request(_ method: HTTPRequest.Method) -> String {
        SpanValue.isKnown(method) ? method.rawValue : "HTTP"
    }
}

/// The keys of attributes, by OpenTelemetry's semantic conventions for HTTP and DNS.
enum SpanKey {
    static let method = "http.request.method"
    static let originalMethod = "http.request.method_original"
    static let resends = "http.request.resend_count"
    static let status = "http.response.status_code"
    static let url = "url.full"
    static let scheme = "url.scheme"
    static let server = "server.address"
    static let port = "server.port"
    static let peerAddress = "network.peer.address"
    static let peerPort = "network.peer.port"
    static let version = "network.protocol.version"
    static let errorType = "error.type"
    static let question = "dns.question.name"
    static let answers = "dns.answers"
    /// The source of the addresses, as in the metrics of a resolver.
    static let source = "httpdns.source"
}

/// The values of attributes.
enum SpanValue {
    /// The text in the place of a value that may be a secret, as the conventions have it.
    static let redacted = "REDACTED"
    /// The most characters of a URL.
    private static let maximumLength = 2048

    /// Whether the conventions know a method.
    static func isKnown(_ method: HTTPRequest.Method) -> Bool {
        HTTPDNSClient.CallRecord.knownMethods.contains(method.rawValue)
    }

    /// Returns the host of a URL, an address without brackets.
    static func server(of url: HTTPDNSRewriter.CanonicalURL) -> String {
        switch url.parsed.host {
        case .name(let name): name
        case .address(let address): "\(address)"
        }
    }

    /// Returns a URL without user information and fragment, and without the values of its query, of path parameters and of
    /// segments such as `token=...`.
    static func url(_ url: HTTPDNSRewriter.CanonicalURL) -> String {
        let end = url.target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? url.target.endIndex
        let (wholePath, query) = (url.target[..<end], url.target[end...])
        let path = HTTPDNSClient.Redaction.standard.path(String(wholePath))
        var text = "\(url.scheme)://\(url.authority)"
        // Most paths have neither parameters nor items.
        text +=
            path.utf8.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }
            ? path.split(separator: "/", omittingEmptySubsequences: false).map(segment).joined(separator: "/") : path
        if !query.isEmpty {
            let items = query.dropFirst().split(separator: "&", omittingEmptySubsequences: false)
            text += "?" + items.map(item).joined(separator: "&")
        }
        return text.utf8.count > maximumLength ? String(text.prefix(maximumLength)) : text
    }

    private static func segment(_ text: Substring) -> String {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        // A segment may be an item too: the token of a content delivery network.
        let first = parts[0].contains("=") ? item(parts[0]) : String(parts[0])
        return ([first] + parts.dropFirst().map(item)).joined(separator: ";")
    }

    /// Returns a name with its value replaced. An item without a name is a value.
    private static func item(_ text: Substring) -> String {
        guard !text.isEmpty else { return "" }
        guard let sign = text.firstIndex(of: "=") else { return redacted }
        return text[...sign] + redacted
    }
}

extension SpanAttributes {
    /// Adds the method.
    mutating func set(_ method: HTTPRequest.Method) {
        self[SpanKey.method] = SpanValue.isKnown(method) ? method.rawValue : "_OTHER"
        if !SpanValue.isKnown(method) { self[SpanKey.originalMethod] = method.rawValue }
    }

    /// Adds the URL, its host and its port.
    mutating func set(_ url: HTTPDNSRewriter.CanonicalURL) {
        self[SpanKey.url] = SpanValue.url(url)
        self[SpanKey.server] = SpanValue.server(of: url)
        self[SpanKey.port] = Int(url.port)
    }
}

extension Span {
    /// Adds an error: its code and its message, which have no secrets.
    func note(_ error: any Error, isLookup: Bool = false) {
        let type: String
        var message: String?
        switch error {
        case is CancellationError:
            type = "canceled"
        case let error as HTTPDNSClientError:
            let failure = isLookup ? error.underlying as? HTTPDNSResolver.Error : nil
            type = failure?.code.description ?? error.code.description
            message = error.message
        default:
            type = String(reflecting: Swift.type(of: error))
        }
        attributes[SpanKey.errorType] = type
        setStatus(SpanStatus(code: .error, message: message))
    }
}

/// The injector of a tracer's fields into the header fields of one request. They replace fields of the same names.
struct FieldInjector: Injector {
    /// Whether only the fields that identify the span are added: all others may be baggage.
    let isIdentityOnly: Bool

    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key), (try? RequestCheck.check(name)) != nil else { return }
        if isIdentityOnly, !FieldInjector.identifiesSpan(name) { return }
        fields[name] = value
    }

    private static let identities: Set<String> = [
        "traceparent", "tracestate", "b3", "uber-trace-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ]

    private static func identifiesSpan(_ name: HTTPField.Name) -> Bool {
        identities.contains(name.canonicalName) || name.canonicalName.hasPrefix("x-b3-")
    }
}
#endif
