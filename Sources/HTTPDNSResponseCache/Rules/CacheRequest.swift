// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The parts of a request that the rules read.
struct CacheRequest: Sendable {
    var method: HTTPRequest.Method
    var fields: HTTPFields { didSet { (kinds, directives) = Self.read(fields) } }
    /// Whether the client adds `Accept-Encoding` itself, below the cache.
    var requestsCodings = false
    /// Whether the URL has a query.
    var hasQuery = false
    /// The credential in the URL, which becomes a field, as a digest.
    var urlCredential: String?
    /// The salt of digests of secrets.
    let salt: CacheSalt
    /// The kinds of the fields, since each request asks for them.
    private(set) var kinds: FieldKinds
    private(set) var directives: RequestDirectives

    init(
        method: HTTPRequest.Method,
        fields: HTTPFields,
        requestsCodings: Bool = false,
        hasQuery: Bool = false,
        urlCredential: String? = nil,
        salt: CacheSalt = .none
    ) {
        self.method = method
        self.fields = fields
        self.requestsCodings = requestsCodings
        self.hasQuery = hasQuery
        self.urlCredential = urlCredential
        self.salt = salt
        (kinds, directives) = Self.read(fields)
    }

    private static func read(_ fields: HTTPFields) -> (FieldKinds, RequestDirectives) {
        let kinds = FieldKinds(fields)
        return (kinds, kinds.contains(.directive) ? RequestDirectives(fields) : RequestDirectives())
    }

    var hasAuthorization: Bool { kinds.contains(.authorization) || urlCredential != nil }

    /// Fields whose values are stored as digests, because they are secrets.
    private static let secrets: Set<String> = ["authorization", "cookie", "proxy-authorization"]
    /// Fields whose values are compared without case (RFC 9110 section 12.5).
    private static let withoutCase: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

    /// Returns a value with one spelling for blanks, list separators and, where it has no meaning, case.
    func normalizedValue(of name: String) -> String? {
        guard let fieldName = HTTPField.Name(name) else { return nil }
        let values = fields[fields: fieldName].map(\.text)
        if values.isEmpty {
            if name == "accept-encoding", requestsCodings { return "<client>" }
            return name == "authorization" ? urlCredential : nil
        }
        if CacheRequest.secrets.contains(name) { return salt.digest(of: values.joined(separator: "\n")) }
        let text = values.flatMap { ListElements($0) }.joined(separator: ", ")
        return CacheRequest.withoutCase.contains(name) ? text.lowercased() : text
    }
}

/// A number that makes the digests of one cache different from those of all others, so that no table of digests helps to find a
/// secret. A folder has a salt of its own.
struct CacheSalt: Hashable, Sendable {
    private let number: UInt128

    /// The salt of requests outside a cache.
    static let none = CacheSalt(number: 0)

    /// Creates a random salt.
    init() { number = .random(in: .min ... .max) }

    private init(number: UInt128) { self.number = number }

    /// Reads the text of a salt; nil for another one.
    init?(text: String) {
        guard text.utf8.count == 32, let number = UInt128(digits: text, radix: 16) else { return nil }
        self.number = number
    }

    /// 32 hexadecimal digits.
    var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.utf8.count) + digits
    }

    func digest(of secret: String) -> String { SHA256Hash.hexadecimal(of: text + secret) }
}

/// The fields of a request that change what the cache does.
struct FieldKinds: OptionSet, Sendable {
    let rawValue: UInt8

    static let authorization = FieldKinds(rawValue: 1)
    static let cookie = FieldKinds(rawValue: 2)
    /// `Cache-Control` or `Pragma`.
    static let directive = FieldKinds(rawValue: 4)
    static let range = FieldKinds(rawValue: 8)
    /// A condition other than `If-Range`.
    static let condition = FieldKinds(rawValue: 16)
    /// `If-Range`.
    static let rangeCondition = FieldKinds(rawValue: 32)
    /// The fields that ask for a part, or for a response to one caller.
    static let notShareable: FieldKinds = [.range, .condition, .rangeCondition]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ fields: HTTPFields) {
        var kinds: FieldKinds = []
        for field in fields {
            let name = field.name.canonicalName
            // Nearly all fields begin with another letter.
            switch name.utf8.first {
            case UInt8(ascii: "a") where name == "authorization": kinds.insert(.authorization)
            case UInt8(ascii: "c") where name == "cookie": kinds.insert(.cookie)
            case UInt8(ascii: "c") where name == "cache-control": kinds.insert(.directive)
            case UInt8(ascii: "p") where name == "pragma": kinds.insert(.directive)
            case UInt8(ascii: "r") where name == "range": kinds.insert(.range)
            case UInt8(ascii: "i") where name == "if-range": kinds.insert(.rangeCondition)
            case UInt8(ascii: "i") where Self.conditions.contains(name): kinds.insert(.condition)
            default: break
            }
        }
        self = kinds
    }

    private static let conditions: Set<String> = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]
}

/// The directives of a request, in milliseconds.
struct RequestDirectives: Sendable {
    private(set) var isNoCache = false
    private(set) var isNoStore = false
    private(set) var onlyIfCached = false
    private(set) var maximumAge: Int64?
    private(set) var minimumFresh: Int64?
    private(set) var maximumStale: Int64?
    /// In seconds.
    private(set) var staleIfError: Int64?

    /// Creates the directives of a request without any.
    init() {}

    init(_ fields: HTTPFields) {
        let control = CacheControl(fields)
        // `Pragma` counts when there is no `Cache-Control` (RFC 9111 section 5.4).
        isNoCache = control.isNoCache || control.isPragmaNoCache(fields)
        isNoStore = control.isNoStore
        onlyIfCached = control.onlyIfCached
        maximumAge = control.maximumAge.map { $0.orZero * 1000 }
        minimumFresh = control.minimumFresh.map { $0.orZero * 1000 }
        maximumStale = control.maximumStale.map { $0.orZero == .max ? .max : $0.orZero * 1000 }
        staleIfError = control.staleIfError?.orZero
    }
}
