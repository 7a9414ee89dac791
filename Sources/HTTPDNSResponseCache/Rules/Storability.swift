// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes

/// The decision whether a response may be stored (RFC 9111 section 3).
enum Storability {
    /// Statuses whose responses may be stored without a declared lifetime (RFC 9110 section 15.1), without 206.
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
    /// Statuses whose caching this client knows.
    private static let understood: Set<Int> = heuristicStatuses.union([
        201, 202, 302, 303, 307, 400, 403, 406, 408, 409, 411, 413, 415, 418, 421, 422, 423, 424, 426, 429, 431, 451,
        500, 502, 503, 504, 505,
    ])
    /// The reason that a response is not stored.
    enum Refusal: Hashable, Sendable {
        /// The request or the response has cookies, and the cache is shared.
        case cookies
        /// The request has a credential, and the response does not permit a shared cache to store it.
        case authorization
        /// `no-store`, or `private` in a shared cache.
        case directive
        /// Another reason:
        /// - of the response: its status, `Vary: *`, no lifetime and no validator, a body that is too long, or a
        ///   redirect that the server of another URL answered;
        /// - of the request: another method than GET, `doNotWrite`, a change of the settings since it was made, or a
        ///   credential, a cookie or a field named by `Vary` that a network interceptor changed;
        /// - of the program: its `mayStore`.
        case other
    }

    /// Returns whether the response to a GET request may be stored, and whether that is of any use.
    static func mayStore(_ head: StoredHead, receivedFields: HTTPFields, to request: CacheRequest, _ rules: CacheRules)
        -> Bool
    {
        refusal(of: head, receivedFields: receivedFields, to: request, rules) == nil
    }

    /// Returns the reason that the response to a GET request is not stored; nil for one that may be stored, with some use.
    static func refusal(
        of head: StoredHead,
        receivedFields: HTTPFields,
        to request: CacheRequest,
        _ rules: CacheRules
    ) -> Refusal? {
        guard request.method == .get else { return .other }
        guard !request.directives.isNoStore else { return .directive }
        let control = CacheControl(receivedFields)
        let isUnderstood = understood.contains(head.status)
        // A status that is not known needs a declared lifetime, and a cache that need not understand it.
        if control.mustUnderstand {
            guard isUnderstood else { return .other }
        } else if control.isNoStore {
            return .directive
        }
        guard head.status >= 200, !ResponseSharing.answersOneRequest(head.status),
            ResponseSharing.varyingNames(in: receivedFields) != nil
        else {
            return .other
        }
        if rules.mode == .shared {
            guard !control.isPrivate else { return .directive }
            guard !ResponseSharing.haveCookies(receivedFields), !request.kinds.contains(.cookie) else {
                return .cookies
            }
            guard !request.hasAuthorization || control.permitsSharing else { return .authorization }
        }
        let declared = Freshness.declaredLifetime(head, rules)
        guard
            declared != nil || control.isPublic || heuristicStatuses.contains(head.status)
                || control.isPrivate && rules.mode == .private
        else { return .other }
        return isUseful(head, request, rules) ? nil : .other
    }

    /// Whether a later request can be answered with the response.
    private static func isUseful(_ head: StoredHead, _ request: CacheRequest, _ rules: CacheRules) -> Bool {
        if rules.keepsForOffline || head.hasValidator { return true }
        let control = head.control
        guard !control.isNoCache else { return false }
        return Freshness.lifetime(head, rules, hasQuery: request.hasQuery) > 0
            || (control.staleWhileRevalidate?.orZero ?? 0) > 0 || (control.staleIfError?.orZero ?? 0) > 0
    }
}
