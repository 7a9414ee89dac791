// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The checks of a request before anything is resolved or sent.
enum RequestCheck {
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`; `invalidURL` for user information that cannot be sent.
    static func check(_ request: HTTPDNSClient.Request, at url: HTTPDNSRewriter.CanonicalURL) throws(HTTPDNSClientError)
    {
        if let credential = url.parsed.credential, !request.headerFields.contains(.authorization) {
            _ = try BasicCredential.field(for: credential)
        }
        try check(request.headerFields)
        if request.body.coding != nil { try checkCoding(request.headerFields) }
        if request.method == .connect {
            throw refusal("the method CONNECT asks for a tunnel, and the client sends requests", hint: nil)
        }
        guard let own = request.own else { return }
        if let host = own.callOptions.hostHeader { try check(hostHeader: host) }
        // Those of a client were checked with its settings.
        if !own.settings.changes.isEmpty { try checkPolicies(own.callOptions) }
    }

    private static func checkCoding(_ fields: HTTPFields) throws(HTTPDNSClientError) {
        guard fields.contains(.contentEncoding) else { return }
        throw refusal(
            "the request has a Content-Encoding of its own, and a body that the client is to compress",
            hint: "leave the field out; or compress the body yourself, and send it without compressed(_:)"
        )
    }

    private static func checkPolicies(_ options: HTTPDNSClient.Request.Options) throws(HTTPDNSClientError) {
        do {
            try options.bandwidth.validate()
            try options.shared.validate()
        } catch {
            throw refusal("the request's own \(error.message)", hint: error.hint)
        }
    }

    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    static func check(_ fields: HTTPFields) throws(HTTPDNSClientError) {
        // By their places: a loop over fields copies each with its name and value.
        for place in fields.indices { try check(fields[place].name) }
    }

    /// Returns the endpoints of a request's own addresses.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    static func endpoints(
        _ targets: [HTTPDNSClient.Request.Target],
        port: UInt16
    ) throws(HTTPDNSClientError) -> [HTTPDNSEndpoint] {
        guard !targets.isEmpty else {
            throw refusal(
                "the list of addresses to connect to (options.addresses) is empty",
                hint: "give one address at least; .automatic uses mappings, cache and providers"
            )
        }
        var endpoints: [HTTPDNSEndpoint] = []
        endpoints.reserveCapacity(targets.count)
        for target in targets {
            do {
                endpoints.append(try target.endpoint(port: port))
            } catch {
                throw refusal(
                    "the request's addresses: \(error)",
                    hint: "written are 203.0.113.9, 203.0.113.9:8443, 2001:db8::9 or [2001:db8::9]:8443"
                )
            }
        }
        return endpoints
    }

    /// Refuses header fields that the client itself sets. It compares lengths first, which settles most names.
    @inline(__always) static func check(_ name: HTTPField.Name) throws(HTTPDNSClientError) {
        let text = name.canonicalName
        switch text.utf8.count {
        case 4 where text == "host":
            throw refusal("a Host header field is not sent as given", hint: "use options.hostHeader for another Host")
        case 14 where text == "content-length", 17 where text == "transfer-encoding":
            throw refusal(
                "the header field \(name) is set by the client, from the body",
                hint: "leave it out; a stream's length goes into Request.Body.stream(length:)"
            )
        // libcurl quirk: No trailers over HTTP/2 (7.88.1). libcurl sends trailers over HTTP/1.1 alone. Tests: none.
        case 7 where text == "trailer":
            throw refusal(
                "the header field Trailer announces fields behind the body, and none are sent",
                hint: "leave it out; libcurl can send trailers over HTTP/1.1 alone, so the client sends none"
            )
        // Connection-specific fields, which HTTP/2 forbids (RFC 9113 section 8.2.2).
        case 10 where text == "connection" || text == "keep-alive", 16 where text == "proxy-connection",
            7 where text == "upgrade":
            throw refusal(
                "the header field \(name) belongs to one connection, and connections are the client's",
                hint: "leave it out"
            )
        // The origin of a tunnel would read it, and a proxy with a credential of its own would get two.
        case 19 where text == "proxy-authorization":
            throw refusal(
                "the header field Proxy-Authorization is for a proxy, and this request goes to an origin",
                hint: "the proxy's login goes into Proxy.credential, or user and password of client.proxy in the file"
            )
        default:
            return
        }
    }

    private static func check(hostHeader: String) throws(HTTPDNSClientError) {
        let forbidden = hostHeader.utf8.contains { byte in
            byte <= 0x20 || byte >= 0x7f || "/\\@?#\"<>,".utf8.contains(byte)
        }
        guard hostHeader.isEmpty || forbidden else { return }
        throw refusal(
            "hostHeader \"\(hostHeader.escaped(limit: 80))\" is not a host with an optional port",
            hint: "write it as in a URL: one.test, one.test:8443, [2001:db8::9]; names outside ASCII as A-labels"
        )
    }

    private static func refusal(_ message: String, hint: String?) -> HTTPDNSClientError {
        HTTPDNSClientError(code: .invalidRequest, phase: .request, message: message, hint: hint)
    }
}
