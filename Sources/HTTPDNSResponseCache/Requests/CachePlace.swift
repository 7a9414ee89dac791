// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The key of a request in the cache, and the rules that apply to it.
struct CachePlace: Sendable {
    /// The URL as a key.
    let url: String
    /// The group of requests that may get the response.
    let partition: String
    /// Whether the request names its partition.
    private let isNamed: Bool
    let rules: CacheRules
    let request: CacheRequest
    let policy: HTTPDNSClient.CachePolicy
    let lifetime: HTTPDNSClient.CacheLifetime
    /// The most private network scope whose responses the request may get; nil for any.
    let maximumScope: HTTPDNSAddressPolicy.Scope?
    /// The time that the request has for reading a stored response.
    let time: ReadTime
    private let isRetry: Bool
    /// Whether the response is for the cache alone, so that no stored body is read for it.
    private(set) var isInBackground = false

    init(_ hop: CacheableHop, _ cache: HTTPDNSClient.ResponseCache) {
        let options = hop.request.cache
        let salt = cache.salt
        let credential = hop.url.parsed.credential.map { salt.digest(of: Self.part($0.user) + $0.password) }
        let request = CacheRequest(
            method: hop.request.method,
            fields: hop.request.headerFields,
            requestsCodings: hop.requestsCodings,
            hasQuery: hop.url.hasQuery,
            urlCredential: credential,
            salt: salt
        )
        self.request = request
        isNamed = options.partition != nil
        // Later requests want the body without its framing.
        policy = hop.keepsChunks ? options.policy.union([.doNotRead, .doNotWrite]) : options.policy
        isRetry = hop.isRetry
        depth = hop.depth
        order = hop.priority.rawValue
        time = ReadTime(head: hop.deadline, body: hop.bodyDeadline)
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
        func add(_ kind: String, _ value: String) { parts += "\(kind) \(part(value))" }
        if let name {
            add("partition", name)
        } else if mode == .private, request.hasAuthorization || request.kinds.contains(.cookie) {
            let (fields, url) = (request.fields, [request.urlCredential].compactMap(\.self))
            let secrets = [
                ("field", fields[fields: .authorization].map(\.text)), ("url", url),
                ("cookie", fields[fields: .cookie].map(\.text)),
            ]
            let texts = secrets.flatMap { kind, values in values.map { "\(kind) \(part($0))" } }
            add("credential", request.salt.digest(of: texts.joined()))
        }
        // Another Host field selects another resource.
        if let host = hop.hostHeader { add("host", host) }
        // A Unix socket, or addresses of the request's own, lead to another server under the same URL.
        if let socket = hop.unixSocket { add("socket", socket) }
        if let addresses = hop.addresses { add("addresses", addresses) }
        return parts
    }

    /// Returns a text after its length, so that no text looks like two.
    private static func part(_ text: String) -> String { "\(text.utf8.count) \(text)" }

    /// Whether the request has a credential that no other request has: each Digest answer counts (RFC 7616 section 3.4).
    /// Without a partition its response would be stored under this credential, for no later request.
    var hasCountedCredential: Bool {
        guard !isNamed, request.kinds.contains(.authorization) else { return false }
        return request.fields[values: .authorization].contains { $0.lowercased().hasPrefix("digest ") }
    }

    /// Whether a stored response may answer the request. A retry wants the server after an error, which an earlier try of its
    /// call may have stored.
    func mayUse(_ head: StoredHead) -> Bool { !isRetry || head.status < 400 }

    /// Whether no byte of a stored body is needed.
    var needsNoBody: Bool { request.method == .head || isInBackground }

    /// Whether the request's response is the same for the requests that wait for it: it wants no part, and has no conditions
    /// of its own.
    var isShareable: Bool { request.kinds.isDisjoint(with: .notShareable) }

    /// Returns the values of the request that a response with these fields depends on; nil for `Vary: *`.
    func vary(by fields: HTTPFields) -> VaryFields? {
        guard let names = ResponseSharing.varyingNames(in: fields) else { return nil }
        var vary = VaryFields(names: names, of: request)
        if rules.mode == .shared, request.hasAuthorization {
            let value = request.normalizedValue(of: "authorization")
            vary.fields.append(VaryFields.Field(name: VaryFields.credential, value: value))
        }
        return vary
    }

    /// Whether the response to the request may be stored, as far as that is known before. Others do not wait for one that
    /// cannot be.
    var mayJoin: Bool {
        request.method == .get && isShareable && !policy.contains(.doNotWrite) && !request.directives.isNoStore
            && !(rules.mode == .shared && request.kinds.contains(.cookie)) && !hasCountedCredential
    }

    /// The key of requests that wait for each other. A shared cache stores a response to a request with a credential for the
    /// same credential, if at all.
    var fetchKey: FetchKey {
        FetchKey(
            method: request.method,
            url: url,
            partition: partition,
            credential: rules.mode == .shared && request.hasAuthorization
                ? request.normalizedValue(of: "authorization") : nil,
            depth: depth
        )
    }
    private let depth: Int
    /// The priority in the queue for connections.
    let order: Int8

    /// Returns the place of a request that the cache sends for itself.
    static func inBackground(_ hop: CacheableHop, _ cache: HTTPDNSClient.ResponseCache) -> CachePlace {
        var place = CachePlace(hop, cache)
        place.isInBackground = true
        return place
    }

    func freshness(of head: StoredHead, at now: Int64) -> Freshness {
        Freshness(head, at: now, rules, hasQuery: request.hasQuery)
    }
}

/// The identity of requests that one response answers, if it is stored.
struct FetchKey: Hashable, Sendable {
    let method: HTTPRequest.Method
    let url: String
    let partition: String
    /// The digest of the credential; nil for requests without one, and in a partition.
    let credential: String?
    let depth: Int
}
