// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

/// The key of a request in the cache, and the rules that apply to it.
struct CachePlace: Sendable {
    /// The URL as a key.
    let url: String
    /// The group of requests that may get the response.
    let partition: String
    let rules: CacheRules
    let request: CacheRequest
    let directives: RequestDirectives
    let policy: HTTPDNSClient.CachePolicy
    let lifetime: HTTPDNSClient.CacheLifetime
    /// The most private network scope whose responses the request may get; nil for any.
    let maximumScope: HTTPDNSAddressPolicy.Scope?

    init(_ hop: CacheableHop, _ cache: HTTPDNSClient.ResponseCache) {
        let options = hop.request.cache
        let credential = hop.url.parsed.credential.map { SHA256.hexadecimal(of: "\($0.user)\n\($0.password)") }
        request = CacheRequest(
            method: hop.request.method,
            fields: hop.request.headerFields,
            requestsCodings: hop.requestsCodings,
            hasQuery: hop.url.target.contains("?"),
            hasURLCredential: credential != nil,
            urlCredential: credential
        )
        directives = RequestDirectives(request)
        policy = options.policy
        lifetime = options.lifetime
        maximumScope = hop.maximumScope
        url = cache.key(of: hop.url)
        let mode = options.partition == nil ? cache.settings.mode.mode : .private
        rules = mode == .shared ? cache.sharedRules : cache.privateRules
        var parts: [String] = []
        if let name = options.partition {
            parts.append("partition \(name)")
        } else if mode == .private, request.hasAuthorization || request.fields.contains(.cookie) {
            let secrets = request.fields[values: .authorization] + [credential ?? ""] + request.fields[values: .cookie]
            parts.append("credential \(SHA256.hexadecimal(of: secrets.joined(separator: "\n")))")
        }
        // Another Host field selects another resource.
        if let host = hop.request.options.hostHeader { parts.append("host \(host)") }
        // A Unix socket, or addresses of the request's own, lead to another server under the same URL.
        if let socket = hop.request.options.unixSocket { parts.append("socket \(socket)") }
        let addresses = hop.request.options.addresses
        if addresses != .automatic, addresses != .system { parts.append("addresses \(addresses)") }
        partition = parts.joined(separator: "\n")
    }

    /// Whether the request's response is the same for the requests that wait for it: it wants no part, and has no conditions
    /// of its own.
    var isShareable: Bool {
        !request.fields.contains(.range) && !Validation.hasConditions(request.fields)
    }

    /// The key of requests that wait for each other.
    var refreshKey: String { "\(request.method.rawValue)\n\(partition)\n\(url)" }

    func freshness(of head: StoredHead, at now: Int64) -> Freshness {
        Freshness(head, at: now, rules, hasQuery: request.hasQuery)
    }
}
