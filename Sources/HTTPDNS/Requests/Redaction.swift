internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

// Requests and responses hold passwords, tokens and cookies. Printed, interpolated, dumped or reflected they show method,
// URL, status and the names of fields, and nothing that stands in a value or a body.

/// The names of fields, for texts.
private func names(_ fields: HTTPFields) -> String {
    fields.isEmpty ? "no fields" : "fields " + fields.map(\.name.rawName).joined(separator: ", ")
}

extension HTTPDNSClient.Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the URL without user information and query, and the names of the fields.
    public var description: String {
        "\(method.rawValue) \(URLText.forErrors(url)), \(names(headerFields)), \(body)"
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Request.Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether there is a body, and of how many bytes, if that is known.
    public var description: String {
        switch content {
        case .none: "no body"
        case .bytes(let bytes): "a body of \(bytes.count) bytes"
        case .stream(let length?, _): "a body of \(length) bytes"
        case .stream(nil, _), .pieces: "a body"
        }
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Response: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, the version and the names of the fields.
    public var description: String { "\(status), \(version), \(names(headerFields))" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Response.Collected: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, the version, the names of the fields, and how long the body is.
    public var description: String { "\(status), \(version), \(names(headerFields)), \(body.count) bytes" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.RedirectPolicy.Redirect: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The status, and the requests before and after it.
    public var description: String { "redirect \(number), \(response.status): \(request) -> \(next)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSRewriter.RewrittenRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without user information and query, and the source of its addresses.
    public var description: String { "\(URLText.forErrors(originalURL)), addresses by \(source)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSRewriter.Tag: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says nothing.
    public var description: String { "a tag" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.InterceptionContext: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The numbers of the call and the hop.
    public var description: String { "call \(callID), hop \(hop), depth \(depth)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Configuration.DefaultHeaders: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The names of the fields.
    public var description: String {
        ([names(fields)] + byHost.map { "\($0.key): \($0.value)" }.sorted()).joined(separator: "; ")
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The names of the fields.
    public var description: String {
        names(fields) + without.map { ", without \($0.rawName)" }.sorted().joined()
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient: CustomReflectable {
    /// Nothing inside: its settings hold default fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSTransport: CustomReflectable {
    /// Nothing inside: it holds the keys of client certificates.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
