// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes

/// The use of a stored response for a request (RFC 9111 section 4, RFC 5861, RFC 8246).
enum ReuseDecision: Hashable, Sendable {
    /// The response answers the request.
    case serve(Freshness)
    /// The stale response answers the request, and is validated in the background.
    case serveWhileRevalidating(Freshness)
    /// The server is asked first.
    case validate(Freshness)

    init(
        _ head: StoredHead,
        for request: CacheRequest,
        _ policy: HTTPDNSClient.CachePolicy,
        at now: Int64,
        _ rules: CacheRules
    ) {
        let freshness = Freshness(head, at: now, rules, hasQuery: request.hasQuery)
        self = Self.decide(head, freshness, request, policy, rules)
    }

    private static func decide(
        _ head: StoredHead,
        _ freshness: Freshness,
        _ request: CacheRequest,
        _ policy: HTTPDNSClient.CachePolicy,
        _ rules: CacheRules
    ) -> ReuseDecision {
        let (own, control) = (request.directives, head.control)
        guard !own.isNoCache, !control.isNoCache, !head.facts.isPragmaNoCache else {
            return .validate(freshness)
        }
        if policy.contains(.alwaysRevalidate) { return .validate(freshness) }
        if let least = own.minimumFresh, freshness.lifetime - freshness.age < least { return .validate(freshness) }
        // An immutable response is not validated on a reload while it is fresh (RFC 8246 section 2).
        if freshness.isFresh, control.isImmutable { return .serve(freshness) }
        if let limit = own.maximumAge, freshness.age > limit { return .validate(freshness) }
        if freshness.isFresh { return .serve(freshness) }
        guard mayBeStale(control, rules) else { return .validate(freshness) }
        if policy.contains(.preferStored) || policy.contains(.onlyStored) { return .serve(freshness) }
        if let limit = own.maximumStale, freshness.staleness <= limit { return .serve(freshness) }
        let window = (control.staleWhileRevalidate?.orZero ?? 0) * 1000
        return freshness.staleness < window && own.minimumFresh == nil
            ? .serveWhileRevalidating(freshness) : .validate(freshness)
    }

    /// Whether a response may be used after its lifetime at all (RFC 9111 section 4.2.4).
    static func mayBeStale(_ control: CacheControl, _ rules: CacheRules) -> Bool {
        if control.mustRevalidate || control.isNoCache { return false }
        return rules.mode == .private || !(control.proxyRevalidate || control.sharedMaximumAge != nil)
    }

    /// Whether a stored response replaces a failure to validate it (RFC 5861 section 4).
    static func replacesError(
        _ head: StoredHead,
        for request: CacheRequest,
        _ policy: HTTPDNSClient.CachePolicy,
        at now: Int64,
        _ rules: CacheRules
    ) -> Bool {
        let (own, control) = (request.directives, head.control)
        guard !own.isNoCache, mayBeStale(control, rules) else { return false }
        if policy.contains(.fallBackToStored) { return true }
        let freshness = Freshness(head, at: now, rules, hasQuery: request.hasQuery)
        let windows = [control.staleIfError?.orZero, own.staleIfError].compactMap(\.self)
        return windows.contains { freshness.staleness <= $0 * 1000 }
    }

    /// Whether a stored response may be served while there is no network.
    static func servesOffline(_ head: StoredHead, for request: CacheRequest, _ rules: CacheRules) -> Bool {
        guard !request.directives.isNoCache else { return false }
        return rules.offlineIgnoresValidation || mayBeStale(head.control, rules)
    }
}

extension CacheControl {
    /// Whether a message without `Cache-Control` has `Pragma: no-cache`.
    func isPragmaNoCache(_ fields: HTTPFields) -> Bool {
        guard !isPresent, let name = HTTPField.Name("pragma") else { return false }
        return fields[values: name].flatMap { ListElements($0) }.contains { $0.lowercased() == "no-cache" }
    }
}
