// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes

/// Everything of a stored response but its body.
struct StoredHead: Hashable, Sendable {
    /// The URL as a key: canonical, and the same for URLs that are equivalent.
    var url: String
    /// The group of requests that may get the response; empty for all.
    var partition: String
    var status: Int
    var reason: String
    /// The HTTP version of the response, such as `HTTP/2`.
    var version: String
    /// The fields that are stored, see ``StorableFields``.
    private(set) var fields: HTTPFields
    /// The values of the fields that the rules read, since each request asks for them.
    private(set) var facts: HeadFacts
    /// The values of the request's fields that `Vary` names.
    var vary: VaryFields
    /// The time at which the request was sent, in milliseconds since 1970.
    var requestTime: Int64
    /// The time at which the response arrived, in milliseconds since 1970.
    var responseTime: Int64 { didSet { facts = HeadFacts(fields, receivedAt: responseTime) } }
    /// Whether the response is removed when the folder is opened the next time.
    var isForSession = false
    /// The network scope of the server, which limits the targets of its redirects.
    var scope: HTTPDNSAddressPolicy.Scope?

    /// The response, without `Age`.
    var response: HTTPResponse {
        HTTPResponse(status: HTTPResponse.Status(code: status, reasonPhrase: reason), headerFields: fields)
    }

    init(
        url: String,
        partition: String,
        status: Int,
        reason: String,
        version: String,
        fields: HTTPFields,
        vary: VaryFields,
        requestTime: Int64,
        responseTime: Int64,
        isForSession: Bool = false,
        scope: HTTPDNSAddressPolicy.Scope? = nil
    ) {
        self.url = url
        self.partition = partition
        self.status = status
        self.reason = reason
        self.version = version
        self.fields = fields
        facts = HeadFacts(fields, receivedAt: responseTime)
        self.vary = vary
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isForSession = isForSession
        self.scope = scope
    }

    /// Returns the head with other fields, those that a newer response has left.
    func with(_ fields: HTTPFields, requestTime: Int64, responseTime: Int64) -> StoredHead {
        var head = self
        head.fields = fields
        head.requestTime = requestTime
        head.responseTime = responseTime
        return head
    }

    var control: CacheControl { facts.control }

    /// Whether the server can be asked if the response is still valid.
    var hasValidator: Bool { fields.entityTag != nil || fields.contains(.lastModified) }

    /// Whether the response is older than an age in milliseconds, or too far in the future after the clock was set back.
    func isBeyond(_ limit: Int64, at now: Int64) -> Bool {
        let (age, isOverflow) = now.subtractingReportingOverflow(responseTime)
        return isOverflow || age.magnitude > limit.magnitude
    }

    /// The approximate number of bytes that the head takes in memory.
    var size: Int {
        fields.reduce(256 + 2 * url.utf8.count + partition.utf8.count) {
            $0 + 32 + $1.name.rawName.utf8.count + $1.value.utf8.count
        }
    }
}

/// The fields of a response that decide about its age and lifetime, parsed. Times are in milliseconds since 1970.
struct HeadFacts: Hashable, Sendable {
    let control: CacheControl
    let isPragmaNoCache: Bool
    let date: Int64?
    let lastModified: Int64?
    /// The value of `Expires`; 0 for an invalid one, which is in the past (RFC 9111 section 5.3).
    let expires: Int64?
    /// The value of `Age`, in milliseconds. The first of several values counts (RFC 9111 section 5.1).
    let age: Int64
    /// Whether the response is for one user: it is private, or has cookies.
    let isForOneUser: Bool
    /// Whether `Last-Modified` is a strong validator: no change of its second came later (RFC 9110 section 8.8.2.2).
    var hasStrongDate: Bool {
        guard let lastModified, let date else { return false }
        return date - lastModified >= 1000
    }

    /// - Parameter time: Milliseconds since 1970; they complete a year of two digits.
    init(_ fields: HTTPFields, receivedAt time: Int64) {
        func milliseconds(_ date: HTTPField) -> Int64? {
            HTTPDate.seconds(date.value, now: time / 1000).map { $0 * 1000 }
        }
        control = CacheControl(fields)
        isPragmaNoCache = control.isPragmaNoCache(fields)
        date = fields.singleton(.date).flatMap(milliseconds)
        lastModified = fields.singleton(.lastModified).flatMap(milliseconds)
        expires = fields.singleton(.expires).map { milliseconds($0) ?? 0 }
        let first = fields.singleton(.age).flatMap { ListElements($0.value).first { _ in true } }
        age = (first.flatMap(CacheControl.seconds) ?? 0) * 1000
        isForOneUser = control.isPrivate || ResponseSharing.haveCookies(fields)
    }
}

/// The choice of the fields of a response that are stored (RFC 9111 section 3.1).
enum StorableFields {
    /// Fields that belong to one connection, and fields about the credentials of the request that they answer.
    private static let dropped: Set<HTTPField.Name> = Set(
        [
            "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
            "authentication-info", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        ].compactMap { HTTPField.Name($0) }
    )
    static func of(_ fields: HTTPFields) -> HTTPFields {
        let listed = Set(
            fields[values: .connection].flatMap { ListElements($0) }.compactMap { HTTPField.Name($0) }
        )
        var kept = fields
        kept.removeAll { dropped.contains($0.name) || listed.contains($0.name) }
        return kept
    }
}

/// The values of the request's fields that a response depends on (RFC 9111 section 4.1).
struct VaryFields: Hashable, Sendable {
    struct Field: Hashable, Sendable {
        /// The name in lower case.
        var name: String
        /// The normalized value; nil when the request had no such field.
        var value: String?
    }

    var fields: [Field]

    /// The name under which a shared cache keeps the credential of the request. It is no name of a field.
    static let credential = "<credential>"

    init(_ fields: [Field] = []) { self.fields = fields }

    /// Returns these values with the credential of others: a validation by another request does not change whose response it is.
    func keeping(_ others: VaryFields) -> VaryFields {
        VaryFields(
            fields.filter { $0.name != Self.credential } + others.fields.filter { $0.name == Self.credential }
        )
    }

    /// Reads the values of a request.
    init(names: [String], of request: CacheRequest) {
        fields = names.map { Field(name: $0, value: request.normalizedValue(of: $0)) }
    }
}

extension CacheRequest {
    /// Returns the newest response that the request may get (RFC 9111 section 4.1), among the variants of its URL.
    /// - Parameters:
    ///   - now: Milliseconds since 1970. A response from the future is stale, so every other is newer.
    ///   - isUsable: Whether the request may get a response. Others are passed over.
    func newest(
        of variants: [HTTPDNSClient.ResponseCache.StoredResponse],
        at now: Int64,
        where isUsable: (StoredHead) -> Bool
    ) -> ResponseIndex.Entry? {
        var values = VaryValues(self)
        var best: (entry: ResponseIndex.Entry, time: Int64)?
        for variant in variants {
            let entry = variant.entry
            guard values.match(entry.head.vary) else { continue }
            let time = entry.head.responseTime <= now ? entry.head.responseTime : .min
            if let best, best.time >= time { continue }
            if isUsable(entry.head) { best = (entry, time) }
        }
        return best?.entry
    }
}

/// The values of one request that the variants of a URL are compared with. Each is normalized once.
struct VaryValues {
    let request: CacheRequest
    private var known: [String: String?] = [:]

    init(_ request: CacheRequest) { self.request = request }

    /// Whether the request has the values of a variant.
    mutating func match(_ vary: VaryFields) -> Bool {
        for field in vary.fields {
            if field.name == VaryFields.credential {
                // Its server declares the response to be for all, and one user never gets that of another.
                guard let own = value(of: "authorization") else { continue }
                guard own == field.value else { return false }
            } else {
                guard value(of: field.name) == field.value else { return false }
            }
        }
        return true
    }

    private mutating func value(of name: String) -> String? {
        if let value = known[name] { return value }
        let value = request.normalizedValue(of: name)
        known[name] = .some(value)
        return value
    }
}
