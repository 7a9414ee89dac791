// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A cookie with the fields of RFC 6265bis section 5.7. Times are milliseconds since 1970.
struct StoredCookie: Sendable, Hashable {
    /// The identity of a cookie: a newer one with the same key replaces it.
    struct Key: Sendable, Hashable {
        var name: [UInt8]
        var domain: String
        var isHostOnly: Bool
        var path: [UInt8]
    }

    var key: Key
    var value: [UInt8]
    /// Nil for a session cookie.
    var expiry: Int64?
    var isSecure: Bool
    var isHTTPOnly: Bool
    var sameSite: HTTPDNSClient.Cookie.SameSite
    var creation: Int64
    /// The number of the cookie among those of the jar: several are created in one millisecond.
    var order: UInt64 = 0
    var lastAccess: Int64

    func isExpired(at now: Int64) -> Bool { expiry.map { $0 <= now } ?? false }
}

/// The parts of a request's URL that cookies depend on.
struct CookieURL: Sendable, Hashable {
    /// The name in canonical form, or the text of an address.
    let host: String
    let isAddress: Bool
    /// The path without the query.
    let path: [UInt8]
    /// Whether the URL is an https URL. Everything else can be read and changed on the network.
    let isSecure: Bool

    init(_ url: ParsedURL) {
        switch url.host {
        case .name(let name): (host, isAddress) = (name, false)
        case .address(let address): (host, isAddress) = (address.description, true)
        }
        path = Array(url.target.utf8.prefix { $0 != UInt8(ascii: "?") })
        isSecure = url.scheme == .https
    }

    /// The path of cookies without a `Path` attribute (RFC 6265bis section 5.1.4).
    var defaultPath: [UInt8] {
        guard path.first == UInt8(ascii: "/"), let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > 0 else {
            return [UInt8(ascii: "/")]
        }
        return Array(path[..<slash])
    }
}

/// The cookies of a jar, and the decisions about them (RFC 6265bis sections 5.7 and 5.8). It is a value without a clock
/// and without a lock.
struct CookieStore: Sendable {
    /// The result of a `Set-Cookie` field.
    enum Outcome: Hashable {
        /// The cookie was stored, or an expired one has removed the cookie of its key.
        case done(changesFile: Bool)
        case rejected(HTTPDNSClient.CookieJar.Rejection)
    }

    /// The longest life of a cookie: 400 days (RFC 6265bis section 5.5), in milliseconds.
    static let maximumLife: Int64 = 400 * 86_400 * 1000

    private let limits: HTTPDNSClient.CookieJar.Limits
    /// The cookies by their domain.
    private var domains: [String: [StoredCookie]] = [:]
    private(set) var count = 0
    /// The number of cookies that the limits have removed.
    private(set) var evicted: UInt64 = 0
    private var lastOrder: UInt64 = 0

    init(_ limits: HTTPDNSClient.CookieJar.Limits) { self.limits = limits }

    var domainCount: Int { domains.count }

    /// All cookies in the order of their creation.
    var all: [StoredCookie] { domains.values.joined().sorted { $0.order < $1.order } }

    // MARK: storing

    /// Processes a `Set-Cookie` field of a response.
    mutating func store(
        _ field: SetCookie,
        from url: CookieURL,
        _ suffixes: PublicSuffixes,
        at now: Int64
    ) -> Outcome {
        do throws(HTTPDNSClient.CookieJar.Rejection) {
            var cookie = try StoredCookie(field, from: url, suffixes, at: now)
            try checkOverlay(cookie, from: url, at: now)
            // Expired cookies are removed late, and count no more (RFC 6265bis section 5.7).
            let old = remove(cookie.key).flatMap { $0.isExpired(at: now) ? nil : $0 }
            let changesFile = cookie.expiry != nil || old?.expiry != nil
            // An expired cookie deletes the one that it would replace.
            guard !cookie.isExpired(at: now) else { return .done(changesFile: old?.expiry != nil) }
            if let old { (cookie.creation, cookie.order) = (old.creation, old.order) }
            let removesOthers = insert(cookie, at: now)
            return .done(changesFile: changesFile || removesOthers)
        } catch {
            return .rejected(error)
        }
    }

    /// Refuses a cookie from clear text that would take precedence over a `Secure` one of the same name.
    private func checkOverlay(
        _ cookie: StoredCookie,
        from url: CookieURL,
        at now: Int64
    ) throws(HTTPDNSClient.CookieJar.Rejection) {
        guard !url.isSecure else { return }
        let candidates = domains.lazy.filter { domain, _ in
            CookieMatch.domain(domain, cookie.key.domain) || CookieMatch.domain(cookie.key.domain, domain)
        }
        let isOverlay = candidates.contains { _, cookies in
            cookies.contains { other in
                other.isSecure && !other.isExpired(at: now) && other.key.name == cookie.key.name
                    && CookieMatch.path(cookie.key.path, other.key.path)
            }
        }
        if isOverlay { throw .overlaysSecure }
    }

    /// Adds a cookie whose key is not in the store, and enforces the limits.
    /// - Returns: Whether the limits have removed a persistent cookie.
    mutating func insert(_ cookie: StoredCookie, at now: Int64) -> Bool {
        var cookie = cookie
        if cookie.order == 0 {
            lastOrder += 1
            cookie.order = lastOrder
        }
        let domain = cookie.key.domain
        domains[domain, default: []].append(cookie)
        count += 1
        var removesPersistent = false
        if domains[domain, default: []].count > limits.maximumPerDomain { removeExpired(in: domain, at: now) }
        while let cookies = domains[domain], cookies.count > limits.maximumPerDomain {
            if evict(from: [domain]) { removesPersistent = true }
        }
        if count > limits.maximum { removeExpired(at: now) }
        while count > limits.maximum {
            if evict(from: Array(domains.keys)) { removesPersistent = true }
        }
        return removesPersistent
    }

    /// Removes the cookie that was used least recently. Within one domain those without `Secure` go first.
    /// - Returns: Whether it was persistent.
    private mutating func evict(from names: [String]) -> Bool {
        let isOneDomain = names.count == 1
        func goesBefore(_ left: StoredCookie, _ right: StoredCookie) -> Bool {
            if isOneDomain, left.isSecure != right.isSecure { return right.isSecure }
            return (left.lastAccess, left.order) < (right.lastAccess, right.order)
        }
        var first: StoredCookie?
        for name in names {
            for cookie in domains[name] ?? [] {
                if let found = first, !goesBefore(cookie, found) { continue }
                first = cookie
            }
        }
        guard let first else { return false }
        remove(first.key)
        evicted += 1
        return first.expiry != nil
    }

    // MARK: retrieving

    /// Returns the cookies for a request, in the order of the `Cookie` field: longer paths first, then earlier creation.
    /// - Parameters:
    ///   - hasCrossedSites: Whether a redirect of the call has led from one site to another.
    ///   - isSafe: Whether the request's method is safe.
    mutating func cookies(
        for url: CookieURL,
        hasCrossedSites: Bool = false,
        isSafe: Bool = true,
        at now: Int64
    ) -> [StoredCookie] {
        guard count > 0 else { return [] }
        var found: [StoredCookie] = []
        var rest = url.host[...]
        while true {
            let domain = String(rest)
            if domains[domain] != nil {
                removeExpired(in: domain, at: now)
                let isOwn = rest.endIndex == url.host.endIndex && rest.startIndex == url.host.startIndex
                for index in domains[domain, default: []].indices {
                    guard let cookie = domains[domain]?[index], isOwn || !cookie.key.isHostOnly,
                        CookieMatch.path(url.path, cookie.key.path), url.isSecure || !cookie.isSecure,
                        CookieMatch.site(cookie.sameSite, hasCrossedSites: hasCrossedSites, isSafe: isSafe)
                    else { continue }
                    // In place: the array of a domain is not copied.
                    domains[domain]?[index].lastAccess = now
                    found.append(cookie)
                }
            }
            // No domain contains an address.
            guard !url.isAddress, let dot = rest.firstIndex(of: ".") else { break }
            rest = rest[rest.index(after: dot)...]
        }
        return found.sorted { left, right in
            let (leftPath, rightPath) = (left.key.path.count, right.key.path.count)
            return leftPath == rightPath
                ? (left.creation, left.order) < (right.creation, right.order) : leftPath > rightPath
        }
    }

    func contains(_ key: StoredCookie.Key) -> Bool { domains[key.domain]?.contains { $0.key == key } ?? false }

    // MARK: removing

    /// Removes the cookie with a key.
    /// - Returns: The cookie; nil when there was none.
    @discardableResult
    mutating func remove(_ key: StoredCookie.Key) -> StoredCookie? {
        guard let index = domains[key.domain]?.firstIndex(where: { $0.key == key }) else { return nil }
        let removed = domains[key.domain]?.remove(at: index)
        if domains[key.domain]?.isEmpty == true { domains[key.domain] = nil }
        count -= 1
        return removed
    }

    /// Removes the cookies that satisfy a condition.
    /// - Returns: Whether a persistent one was among them.
    @discardableResult
    mutating func removeAll(where isUnwanted: (StoredCookie) -> Bool) -> Bool {
        let unwanted = domains.values.joined().filter(isUnwanted)
        for cookie in unwanted { remove(cookie.key) }
        return unwanted.contains { $0.expiry != nil }
    }

    /// Removes all expired cookies. The file need not change: a reader ignores them.
    mutating func removeExpired(at now: Int64) { removeAll { $0.isExpired(at: now) } }

    private mutating func removeExpired(in domain: String, at now: Int64) {
        guard let cookies = domains[domain], cookies.contains(where: { $0.isExpired(at: now) }) else { return }
        let left = cookies.filter { !$0.isExpired(at: now) }
        count -= cookies.count - left.count
        domains[domain] = left.isEmpty ? nil : left
    }
}

/// The comparisons of hosts, paths and sites (RFC 6265bis sections 5.1.3, 5.1.4 and 5.8.3).
enum CookieMatch {
    /// Whether a host domain-matches a domain: it is the same, or a name below it. Addresses match themselves alone.
    static func domain(_ host: String, _ domain: String) -> Bool {
        if host == domain { return true }
        // A canonical address has a colon, or a last part of digits, which no name has.
        guard !CookieMatch.isAddress(host) else { return false }
        return host.utf8.count > domain.utf8.count + 1 && host.hasSuffix(domain)
            && host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".")
    }

    private static func isAddress(_ host: String) -> Bool {
        guard let last = host.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
        return host.utf8.contains(UInt8(ascii: ":"))
            || last.allSatisfy(\.isDigit)
    }

    /// Whether the path of a request path-matches the path of a cookie.
    static func path(_ path: [UInt8], _ cookie: [UInt8]) -> Bool {
        guard path.starts(with: cookie) else { return false }
        return path.count == cookie.count || cookie.last == UInt8(ascii: "/")
            || path[cookie.count] == UInt8(ascii: "/")
    }

    /// Whether a cookie may be sent as far as sites are concerned. A call of this client counts as a navigation.
    static func site(_ sameSite: HTTPDNSClient.Cookie.SameSite, hasCrossedSites: Bool, isSafe: Bool) -> Bool {
        guard hasCrossedSites, sameSite != .none else { return true }
        return sameSite != .strict && isSafe
    }
}
