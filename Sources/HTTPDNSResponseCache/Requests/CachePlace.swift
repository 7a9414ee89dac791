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
    let policy: HTTPDNSClient.CachePolicy
    let lifetime: HTTPDNSClient.CacheLifetime
    /// The most private network scope whose responses the request may get; nil for any.
    let maximumScope: HTTPDNSAddressPolicy.Scope?

    init(_ hop: CacheableHop, _ cache: HTTPDNSClient.ResponseCache) {
        let options = hop.request.cache
        let credential = hop.url.parsed.credential.map { SHA256.hexadecimal(of: "\($0.user)\n\($0.password)") }
        let request = CacheRequest(
            method: hop.request.method,
            fields: hop.request.headerFields,
            requestsCodings: hop.requestsCodings,
            hasQuery: hop.url.hasQuery,
            urlCredential: credential
        )
        self.request = request
        policy = options.policy
        lifetime = options.lifetime
        maximumScope = hop.maximumScope
        url = cache.key(of: hop.url)
        let mode = options.partition == nil ? cache.settings.mode.mode : .private
        rules = mode == .shared ? cache.sharedRules : cache.privateRules
        partition = Self.partition(of: hop, request, options.partition, mode)
    }

    /// Returns the name of the requests that may share responses; empty for all.
    private static func partition(
        of hop: CacheableHop,
        _ request: CacheRequest,
        _ name: String?,
        _ mode: CacheRules.Mode
    ) -> String {
        var parts = ""
        func add(_ kind: String, _ value: String) { parts += parts.isEmpty ? "\(kind) \(value)" : "\n\(kind) \(value)" }
        if let name {
            add("partition", name)
        } else if mode == .private, request.hasAuthorization || request.kinds.contains(.cookie) {
            let fields = request.fields
            let secrets = fields[values: .authorization] + [request.urlCredential ?? ""] + fields[values: .cookie]
            add("credential", SHA256.hexadecimal(of: secrets.joined(separator: "\n")))
        }
        // Another Host field selects another resource.
        if let host = hop.hostHeader { add("host", host) }
        // A Unix socket, or addresses of the request's own, lead to another server under the same URL.
        if let socket = hop.unixSocket { add("socket", socket) }
        if let addresses = hop.addresses { add("addresses", addresses) }
        return parts
    }

    /// Whether the request's response is the same for the requests that wait for it: it wants no part, and has no conditions
    /// of its own.
    var isShareable: Bool { request.kinds.isDisjoint(with: [.range, .condition, .rangeCondition]) }

    /// Returns the values of the request that a response with these fields depends on; nil for `Vary: *`.
    func vary(by fields: HTTPFields) -> VaryFields? {
        guard let names = VaryFields.names(in: fields) else { return nil }
        var vary = VaryFields(names: names, of: request)
        if rules.mode == .shared, request.hasAuthorization {
            let value = request.normalizedValue(of: "authorization")
            vary.fields.append(VaryFields.Field(name: VaryFields.credential, value: value))
        }
        return vary
    }

    /// The key of requests that wait for each other.
    var refreshKey: String { "\(request.method.rawValue)\n\(partition)\n\(url)" }

    func freshness(of head: StoredHead, at now: Int64) -> Freshness {
        Freshness(head, at: now, rules, hasQuery: request.hasQuery)
    }
}
