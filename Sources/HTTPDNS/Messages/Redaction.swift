// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

// Requests and responses hold passwords, tokens and cookies. Their printed, interpolated, dumped or reflected form
// shows method, URL, status and field names, and nothing of a value or a body.

/// Returns the names of header fields for texts.
private func names(_ fields: HTTPFields) -> String {
    fields.isEmpty ? "no fields" : "fields " + fields.map(\.name.rawName).joined(separator: ", ")
}

extension HTTPDNSClient.Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the URL without user information and query, and the names of the header fields.
    public var description: String {
        "\(method.rawValue) \(URLText.forErrors(url)), \(names(headerFields)), \(body)"
    }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Request.Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether there is a body, and its number of bytes if that is known.
    public var description: String {
        switch content {
        case .none: "no body"
        case .bytes(let bytes): "a body of \(bytes.count) bytes"
        case .stream(let length?, _): "a body of \(length) bytes"
        case .stream(nil, _), .pieces: "a body"
        }
    }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Response: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, the version and the names of the header fields.
    public var description: String { "\(status), \(version), \(names(headerFields))" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Response.Collected: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, the version, the names of the header fields, and the length of the body.
    public var description: String { "\(status), \(version), \(names(headerFields)), \(body.count) bytes" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.RedirectPolicy.Redirect: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The number and status of the redirect, and the requests before and after it.
    public var description: String { "redirect \(number), \(response.status): \(request) -> \(next)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSRewriter.RewrittenRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without user information and query, and the source of its addresses.
    public var description: String { "\(URLText.forErrors(originalURL)), addresses by \(source)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSRewriter.Tag: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant text without the content of the tag.
    public var description: String { "a tag" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.InterceptionContext: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The numbers of the call and the hop.
    public var description: String { "call \(callID), hop \(hop), depth \(depth)" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Configuration.DefaultHeaders: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The names of the header fields.
    public var description: String {
        ([names(fields)] + byHost.map { "\($0.key): \($0.value)" }.sorted()).joined(separator: "; ")
    }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The names of the header fields.
    public var description: String {
        names(fields) + without.map { ", without \($0.rawName)" }.sorted().joined()
    }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSClient: CustomReflectable {
    /// An empty mirror: the settings hold default header fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSLibcurlTransport: CustomReflectable {
    /// An empty mirror: a transport holds the keys of client certificates.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
