// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// A condition on a request, for interceptors and stubs.
    ///
    /// ```swift
    /// let uploads: HTTPDNSClient.RequestPredicate = .method(.post) && .host("*.shop.example")
    /// ```
    ///
    /// A predicate changes no request, and can be evaluated any number of times. A URL that cannot be parsed fulfills no
    /// condition on a part of it. ``description`` contains the values that it compares with: put no secret there.
    public struct RequestPredicate: Sendable, CustomStringConvertible {
        private indirect enum Content: Sendable {
            case head(@Sendable (HTTPDNSClient.Request) -> Bool)
            case url(@Sendable (ReceivedURL) -> Bool)
            case body(limit: HTTPDNSByteCount, @Sendable ([UInt8]) -> Bool)
            case closure(@Sendable (HTTPDNSClient.Request) async throws -> Bool)
            case all(RequestPredicate, RequestPredicate)
            case any(RequestPredicate, RequestPredicate)
            case not(RequestPredicate)
        }

        private let content: Content
        /// The condition as text, such as `method POST && path "/v1/charge"`.
        public let description: String

        private init(_ description: String, _ content: Content) {
            self.description = description
            self.content = content
        }

        /// The number of bytes of a body that a predicate reads, unless told otherwise.
        public static let defaultBodyLimit = HTTPDNSByteCount.kibibytes(64)

        /// Whether both conditions are fulfilled. The right one is evaluated only if the left one is fulfilled.
        public static func && (left: RequestPredicate, right: RequestPredicate) -> RequestPredicate {
            RequestPredicate("\(left.part) && \(right.part)", .all(left, right))
        }

        /// Whether one of the conditions is fulfilled. The right one is evaluated only if the left one is not fulfilled.
        public static func || (left: RequestPredicate, right: RequestPredicate) -> RequestPredicate {
            RequestPredicate("\(left.part) || \(right.part)", .any(left, right))
        }

        /// Whether the condition is not fulfilled.
        public static prefix func ! (condition: RequestPredicate) -> RequestPredicate {
            switch condition.content {
            case .all, .any: RequestPredicate("!(\(condition.description))", .not(condition))
            default: RequestPredicate("!\(condition.description)", .not(condition))
            }
        }

        /// The text inside a conjunction or a disjunction.
        private var part: String {
            if case .any = content { "(\(description))" } else { description }
        }

        /// Whether the request fulfills the condition. A body that decides is read, and the body of `request` is then one that
        /// still is sent whole, see ``HTTPDNSClient/Request/Body/peek(upTo:)``.
        /// - Throws: ``HTTPDNSClientError`` for a body that cannot be read; errors of closures; `CancellationError`.
        package func matches(_ request: inout HTTPDNSClient.Request) async throws -> Bool {
            switch content {
            case .head(let test): return test(request)
            case .url(let test): return test(ReceivedURL(request.url))
            case .closure(let test): return try await test(request)
            case .body(let limit, let test):
                // One more byte shows whether the body is longer than the limit, which fulfills no condition.
                let bytes = try await request.body.peek(upTo: .bytes(min(limit.bytes, Int.max - 1) + 1))
                return bytes.count <= limit.bytes && test(bytes)
            case .all(let left, let right):
                guard try await left.matches(&request) else { return false }
                return try await right.matches(&request)
            case .any(let left, let right):
                if try await left.matches(&request) { return true }
                return try await right.matches(&request)
            case .not(let condition): return try await !condition.matches(&request)
            }
        }

        /// Returns the condition as a closure that reads no body, and returns nil when a body or a closure decides. It is made
        /// once for an interceptor: to walk through the condition for each request would count references to all parts of it.
        var headTest: @Sendable (HTTPDNSClient.Request, ReceivedURL) -> Bool? {
            switch content {
            case .head(let test): return { request, _ in test(request) }
            case .url(let test): return { _, url in test(url) }
            case .closure, .body: return { _, _ in nil }
            case .all(let left, let right):
                let (left, right) = (left.headTest, right.headTest)
                return { request, url in
                    guard let isLeft = left(request, url) else { return nil }
                    return isLeft ? right(request, url) : false
                }
            case .any(let left, let right):
                let (left, right) = (left.headTest, right.headTest)
                return { request, url in
                    guard let isLeft = left(request, url) else { return nil }
                    return isLeft ? true : right(request, url)
                }
            case .not(let condition):
                let test = condition.headTest
                return { request, url in test(request, url).map { !$0 } }
            }
        }

        /// Whether the head of a request decides, so that ``matchesHead(of:)`` can be used.
        package var readsHeadOnly: Bool {
            switch content {
            case .head, .url: true
            case .body, .closure: false
            case .all(let left, let right), .any(let left, let right): left.readsHeadOnly && right.readsHeadOnly
            case .not(let condition): condition.readsHeadOnly
            }
        }

        /// Whether the head of the request fulfills the condition. It does not when a body or a closure decides.
        package func matchesHead(of request: HTTPDNSClient.Request) -> Bool {
            // Only other conditions need the URL.
            if case .head(let test) = content { return test(request) }
            return headTest(request, ReceivedURL(request.url)) ?? false
        }

        /// Returns the conditions of a conjunction that the request does not fulfill; empty when it fulfills all.
        package func unfulfilled(by request: inout HTTPDNSClient.Request) async throws -> [RequestPredicate] {
            if case .all(let left, let right) = content {
                let first = try await left.unfulfilled(by: &request)
                return first + (try await right.unfulfilled(by: &request))
            }
            return try await matches(&request) ? [] : [self]
        }
    }
}

extension HTTPDNSClient.RequestPredicate {
    private static func head(
        _ description: String,
        _ test: @escaping @Sendable (HTTPDNSClient.Request) -> Bool
    ) -> HTTPDNSClient.RequestPredicate {
        HTTPDNSClient.RequestPredicate(description, .head(test))
    }

    /// Returns a condition on the parsed URL; an unreadable URL does not fulfill it.
    private static func url(
        _ description: String,
        _ test: @escaping @Sendable (ParsedURL) -> Bool
    ) -> HTTPDNSClient.RequestPredicate {
        HTTPDNSClient.RequestPredicate(description, .url { $0.parsed.map(test) ?? false })
    }

    /// Returns a predicate that every request fulfills.
    public static var all: HTTPDNSClient.RequestPredicate { head("all requests") { _ in true } }

    /// Returns a condition by a closure. It must not change anything, because it may be called any number of times.
    /// - Parameters:
    ///   - name: The text of the condition in errors.
    ///   - test: Returns whether the request fulfills the condition.
    public static func custom(
        _ name: String,
        _ test: @escaping @Sendable (HTTPDNSClient.Request) async throws -> Bool
    ) -> HTTPDNSClient.RequestPredicate {
        HTTPDNSClient.RequestPredicate(name, .closure(test))
    }

    /// Returns the condition that the method is one of these.
    public static func method(_ methods: HTTPRequest.Method...) -> HTTPDNSClient.RequestPredicate {
        head("method \(methods.map(\.rawValue).joined(separator: "|"))") { methods.contains($0.method) }
    }

    /// Returns the condition that the URL is this one, both in canonical form (``HTTPDNSRewriter/Canonicalizer``). The query
    /// is compared only if this URL has one. Fragment and user information are never compared. A text that is no http or
    /// https URL fails each evaluation with ``HTTPDNSClientError/Code/invalidURL``.
    public static func url(_ url: String) -> HTTPDNSClient.RequestPredicate {
        let expected: ParsedURL
        do {
            expected = try HTTPDNSRewriter.Canonicalizer.canonicalize(url).parsed
        } catch {
            return custom("url \"\(URLText.forErrors(url))\"") { [error] _ in throw error }
        }
        let origin = HTTPDNSClient.Origin(expected)
        let resource =
            head("origin \(origin)") { HTTPDNSClient.Origin($0.url) == origin } && path(expected.path)
        guard expected.target.contains("?") else { return resource }
        let query = expected.query
        return resource && Self.url("query \"\(query)\"") { $0.query == query }
    }

    /// Returns the condition that the scheme is this one, in any case: `http` or `https`.
    public static func scheme(_ scheme: String) -> HTTPDNSClient.RequestPredicate {
        let scheme = scheme.lowercased()
        return url("scheme \(scheme)") { $0.scheme.rawValue == scheme }
    }

    /// Returns the condition that the host is this one, in any case, or below it: `*.shop.test` is every name below
    /// `shop.test`, and not `shop.test` itself. The port is not compared.
    public static func host(_ host: String) -> HTTPDNSClient.RequestPredicate {
        let host = host.lowercased()
        let suffix = host.hasPrefix("*.") ? String(host.dropFirst()) : nil
        // The most frequent condition: it copies no URL.
        return HTTPDNSClient.RequestPredicate(
            "host \(host)",
            .url { url in
                guard let own = url.host else { return false }
                return suffix.map { own.hasSuffix($0) && own.count > $0.count } ?? (own == host)
            }
        )
    }

    /// Returns the condition that the path, as it is sent and without the query, equals this one.
    public static func path(_ path: String) -> HTTPDNSClient.RequestPredicate {
        url("path \"\(path)\"") { $0.path == path }
    }

    /// Returns the condition that the path begins with this text.
    public static func path(prefix: String) -> HTTPDNSClient.RequestPredicate {
        url("path \"\(prefix)...\"") { $0.path.hasPrefix(prefix) }
    }

    /// Returns the condition that the path ends with this text.
    public static func path(suffix: String) -> HTTPDNSClient.RequestPredicate {
        url("path \"...\(suffix)\"") { $0.path.hasSuffix(suffix) }
    }

    /// Returns the condition that the path fits a glob: `?` is one character other than `/`, `*` any number of them, `**`
    /// any number of characters.
    public static func path(glob: String) -> HTTPDNSClient.RequestPredicate {
        let pattern = Array(glob.utf8)
        return url("path glob \"\(glob)\"") { Self.fits(Array($0.path.utf8)[...], pattern[...]) }
    }

    /// Returns the condition that the whole path matches a regular expression in the syntax of Swift's `Regex`.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` for a text that is no regular expression.
    public static func path(regex: String) throws(HTTPDNSClientError) -> HTTPDNSClient.RequestPredicate {
        let expression: CompiledExpression
        do {
            expression = CompiledExpression(try Regex(regex))
        } catch {
            throw .configuration(
                "\"\(regex)\" is no regular expression",
                hint: "the error of Swift's Regex is in underlying; path(glob:) has simpler patterns",
                underlying: error
            )
        }
        return url("path regex \"\(regex)\"") { expression.matches($0.path) }
    }

    /// Returns the condition that the query contains this item.
    /// - Parameters:
    ///   - name: The name, without percent-encoding.
    ///   - value: The value, without percent-encoding; nil for any.
    public static func query(_ name: String, _ value: String? = nil) -> HTTPDNSClient.RequestPredicate {
        url("query \(name)\(value.map { "=\($0)" } ?? "")") { url in
            FormItems.items(of: url.query).contains { $0.name == name && (value == nil || $0.value == value) }
        }
    }

    /// Returns the condition that the request contains this header field.
    public static func header(_ name: HTTPField.Name) -> HTTPDNSClient.RequestPredicate {
        head("header \(name)") { $0.headerFields.contains(name) }
    }

    /// Returns the condition that a header field of this name has this value.
    public static func header(_ name: HTTPField.Name, _ value: String) -> HTTPDNSClient.RequestPredicate {
        head("header \(name) with the expected value") { $0.headerFields[values: name].contains(value) }
    }

    /// Returns the condition that the value of a header field of this name contains this text.
    public static func header(_ name: HTTPField.Name, contains text: String) -> HTTPDNSClient.RequestPredicate {
        head("header \(name) with the expected text") { request in
            request.headerFields[values: name].contains { $0.contains(text) }
        }
    }

    /// Returns a condition on the bytes of the body before compression. A body that is longer than the limit does not fulfill it.
    /// - Parameters:
    ///   - name: The text of the condition in errors.
    ///   - limit: The longest body that is read.
    ///   - test: Returns whether the bytes fulfill the condition.
    public static func body(
        _ name: String = "body",
        upTo limit: HTTPDNSByteCount = defaultBodyLimit,
        where test: @escaping @Sendable ([UInt8]) -> Bool
    ) -> HTTPDNSClient.RequestPredicate {
        HTTPDNSClient.RequestPredicate(name, .body(limit: limit, test))
    }

    /// Returns the condition that the body is equal to these bytes.
    public static func body(_ bytes: [UInt8]) -> HTTPDNSClient.RequestPredicate {
        body("body of \(bytes.count) bytes", upTo: .bytes(bytes.count)) { $0 == bytes }
    }

    /// Returns the condition that the body is a form with exactly these items, in any order.
    public static func body(
        form items: KeyValuePairs<String, String>,
        upTo limit: HTTPDNSByteCount = defaultBodyLimit
    ) -> HTTPDNSClient.RequestPredicate {
        let expected = items.map { FormItems.Item(name: $0.key, value: $0.value) }.sorted()
        return body("body form of \(items.map(\.key).joined(separator: ", "))", upTo: limit) { bytes in
            FormItems.items(of: String(decoding: bytes, as: UTF8.self)).sorted() == expected
        }
    }

    /// Matches bytes with a glob. The time is bounded by the product of both lengths for patterns with one `*`.
    private static func fits(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        // The reachable positions of the text, for one element of the pattern after the other: no backtracking.
        var reachable = Array(repeating: false, count: text.count + 1)
        reachable[0] = true
        let text = Array(text)
        var rest = pattern
        while let element = rest.popFirst() {
            var next = Array(repeating: false, count: text.count + 1)
            if element == UInt8(ascii: "*") {
                let crosses = rest.first == UInt8(ascii: "*")
                if crosses { rest.removeFirst() }
                var isOpen = false
                for position in 0...text.count {
                    if position > 0, !crosses, text[position - 1] == UInt8(ascii: "/") { isOpen = false }
                    isOpen = isOpen || reachable[position]
                    next[position] = isOpen
                }
            } else {
                for position in text.indices where reachable[position] {
                    let isAny = element == UInt8(ascii: "?") && text[position] != UInt8(ascii: "/")
                    next[position + 1] = isAny || text[position] == element
                }
            }
            reachable = next
        }
        return reachable[text.count]
    }
}

extension ParsedURL {
    /// The path of the target, without its query.
    fileprivate var path: String { String(target.prefix { $0 != "?" }) }
    /// The query, without its question mark; empty without one.
    fileprivate var query: String { String(target.drop { $0 != "?" }.dropFirst()) }
}

/// The items of a form or a query (application/x-www-form-urlencoded, WHATWG URL section 5.1).
package enum FormItems {
    package struct Item: Hashable, Comparable {
        package let name: String
        package let value: String

        package static func < (left: Item, right: Item) -> Bool { (left.name, left.value) < (right.name, right.value) }
    }

    package static func items(of text: String) -> [Item] {
        text.split(separator: "&").map(item)
    }

    private static func item(_ text: Substring) -> Item {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return Item(name: decoded(parts[0]), value: parts.count > 1 ? decoded(parts[1]) : "")
    }

    /// Returns a name or a value without its percent-encoding. A percent sign without two digits stays.
    static func decoded(_ text: Substring) -> String {
        let spaced = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(decoding: PercentCoding.decoded(spaced), as: UTF8.self)
    }
}

/// A regular expression of a text, compiled once for all requests.
///
/// A `Regex` is not Sendable because one that is built in code may have closures of any kind. That of a text has none: its
/// content is constant but for the compiled program, which the standard library stores atomically at the first match.
private final class CompiledExpression: @unchecked Sendable {
    private let expression: Regex<AnyRegexOutput>

    init(_ expression: Regex<AnyRegexOutput>) { self.expression = expression }

    /// Whether the whole text matches.
    func matches(_ text: String) -> Bool { (try? expression.wholeMatch(in: text)) != nil }
}
