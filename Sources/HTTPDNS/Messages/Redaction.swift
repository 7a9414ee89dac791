// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import HTTPTypes

// Requests and responses hold passwords, tokens and cookies. Their printed, interpolated, dumped or reflected form
// shows method, URL, status and field names, and nothing of a value or a body.

/// Returns the names of header fields for texts.
private func names(_ fields: HTTPFields) -> String {
    fields.isEmpty ? "no fields" : "fields " + fields.map(\.name.rawName).joined(separator: ", ")
}

extension HTTPDNSClient.Request: HTTPDNSRedacted {
    /// The method, the URL without user information and query, and the names of the header fields.
    public var description: String {
        "\(method.rawValue) \(URLText.forErrors(url)), \(names(headerFields)), \(body)"
    }
}

extension HTTPDNSClient.Request.Body: HTTPDNSRedacted {
    /// Whether there is a body, and its number of bytes if that is known.
    public var description: String {
        switch content {
        case .none: "no body"
        case .bytes(let bytes): "a body of \(bytes.count) bytes"
        case .stream(let length?, _): "a body of \(length) bytes"
        case .stream(nil, _), .pieces: "a body"
        }
    }
}

extension HTTPDNSClient.Response: HTTPDNSRedacted {
    /// The status, the version and the names of the header fields.
    public var description: String { "\(status), \(version), \(names(headerFields))" }
}

extension HTTPDNSClient.Response.Collected: HTTPDNSRedacted {
    /// The status, the version, the names of the header fields, and the length of the body.
    public var description: String { "\(status), \(version), \(names(headerFields)), \(body.count) bytes" }
}

extension HTTPDNSClient.RedirectPolicy.Redirect: HTTPDNSRedacted {
    /// The number and status of the redirect, and the requests before and after it.
    public var description: String { "redirect \(number), \(response.status): \(request) -> \(next)" }
}

extension HTTPDNSRewriter.RewrittenRequest: HTTPDNSRedacted {
    /// The URL without user information and query, and the source of its addresses.
    public var description: String { "\(URLText.forErrors(originalURL)), addresses by \(source)" }
}

extension HTTPDNSRewriter.Tag: HTTPDNSRedacted {
    /// A constant text without the content of the tag.
    public var description: String { "a tag" }
}

extension HTTPDNSClient.InterceptionContext: HTTPDNSRedacted {
    /// The numbers of the call and the hop.
    public var description: String { "call \(callID), hop \(hop), depth \(depth)" }
}

extension HTTPDNSClient.Configuration.DefaultHeaders: HTTPDNSRedacted {
    /// The names of the header fields.
    public var description: String {
        ([names(fields)] + byHost.map { "\($0.key): \($0.value)" }.sorted()).joined(separator: "; ")
    }
}

extension HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders: HTTPDNSRedacted {
    /// The names of the header fields.
    public var description: String {
        names(fields) + without.map { ", without \($0.rawName)" }.sorted().joined()
    }
}

extension HTTPDNSClient: CustomReflectable {
    /// An empty mirror: the settings hold default header fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPDNSLibcurlTransport: CustomReflectable {
    /// An empty mirror: a transport holds the keys of client certificates.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
