// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Testing

@testable import HTTPDNSResponseCache

struct ReuseTests {
    enum Use: Sendable {
        case serve, background, validate
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let control: String
        /// The age of the response in seconds.
        let age: Int64
        var request: [String: String] = [:]
        var policy: HTTPDNSClient.CachePolicy = []
        let use: Use
        var testDescription: String { "\(control) at \(age) \(request) \(policy.rawValue)" }
    }

    @Test(
        "Age, directives of both sides and the policy decide",
        arguments: [
            Case(control: "max-age=60", age: 59, use: .serve),
            Case(control: "max-age=60", age: 60, use: .validate),
            Case(control: "max-age=60, no-cache", age: 0, use: .validate),
            Case(control: "max-age=60", age: 1, request: ["cache-control": "no-cache"], use: .validate),
            Case(control: "max-age=60", age: 1, request: ["pragma": "no-cache"], use: .validate),
            Case(
                control: "max-age=60",
                age: 1,
                request: ["pragma": "no-cache", "cache-control": "max-age=60"],
                use: .serve
            ),
            Case(control: "max-age=60", age: 10, request: ["cache-control": "max-age=9"], use: .validate),
            Case(control: "max-age=60", age: 10, request: ["cache-control": "max-age=10"], use: .serve),
            Case(control: "max-age=60", age: 10, request: ["cache-control": "min-fresh=50"], use: .serve),
            Case(control: "max-age=60", age: 11, request: ["cache-control": "min-fresh=50"], use: .validate),
            Case(control: "max-age=60", age: 70, request: ["cache-control": "max-stale"], use: .serve),
            Case(control: "max-age=60", age: 70, request: ["cache-control": "max-stale=10"], use: .serve),
            Case(control: "max-age=60", age: 71, request: ["cache-control": "max-stale=10"], use: .validate),
            Case(
                control: "max-age=60, must-revalidate",
                age: 61,
                request: ["cache-control": "max-stale"],
                use: .validate
            ),
            Case(control: "s-maxage=60", age: 61, request: ["cache-control": "max-stale"], use: .validate),
            Case(control: "max-age=60, stale-while-revalidate=30", age: 89, use: .background),
            Case(control: "max-age=60, stale-while-revalidate=30", age: 90, use: .validate),
            Case(control: "max-age=60, stale-while-revalidate=30, must-revalidate", age: 70, use: .validate),
            Case(control: "max-age=60, immutable", age: 1, request: ["cache-control": "max-age=0"], use: .serve),
            Case(control: "max-age=60, immutable", age: 1, request: ["cache-control": "no-cache"], use: .validate),
            Case(control: "max-age=60, immutable", age: 60, use: .validate),
            Case(control: "max-age=60, immutable", age: 1, policy: .alwaysRevalidate, use: .validate),
            Case(control: "max-age=60, immutable", age: 11, request: ["cache-control": "min-fresh=50"], use: .validate),
            Case(control: "max-age=60, immutable", age: 10, request: ["cache-control": "min-fresh=50"], use: .serve),
            Case(control: "max-age=60", age: 1, policy: .alwaysRevalidate, use: .validate),
            Case(control: "max-age=60", age: 1000, policy: .preferStored, use: .serve),
            Case(control: "max-age=60, must-revalidate", age: 1000, policy: .preferStored, use: .validate),
            Case(control: "max-age=60", age: 1000, policy: .onlyStored, use: .serve),
            Case(control: "max-age=60", age: 61, policy: .fallBackToStored, use: .validate),
            // The clock was set back.
            Case(control: "max-age=60", age: -1, use: .validate),
            Case(control: "max-age=60, immutable", age: -1, use: .validate),
            Case(control: "max-age=60, stale-while-revalidate=30", age: -1, use: .validate),
            Case(control: "max-age=60", age: -1, request: ["cache-control": "max-stale=10"], use: .validate),
            Case(control: "max-age=60", age: -1, policy: .preferStored, use: .serve),
        ]
    )
    func use(_ row: Case) {
        var request = CacheRequest(method: .get, fields: [:])
        for (name, value) in row.request { if let name = HTTPField.Name(name) { request.fields[name] = value } }
        let decision = ReuseDecision(
            head(["cache-control": row.control]),
            for: request,
            row.policy,
            at: arrival + row.age * 1000,
            CacheRules()
        )
        let use: Use =
            switch decision {
            case .serve: .serve
            case .serveWhileRevalidating: .background
            case .validate: .validate
            }
        #expect(use == row.use)
    }

    @Test(
        "A stale response replaces an error within its window alone",
        arguments: [
            ("max-age=60, stale-if-error=30", "", 90, true), ("max-age=60, stale-if-error=30", "", 91, false),
            ("max-age=60", "stale-if-error=10", 70, true), ("max-age=60", "", 61, false),
            ("max-age=60, stale-if-error=30, must-revalidate", "", 61, false),
            ("max-age=60, stale-if-error=30", "no-cache", 61, false),
            ("max-age=60, stale-if-error=30", "", -1, false),
        ] as [(String, String, Int64, Bool)]
    )
    func errors(_ control: String, _ own: String, _ age: Int64, _ expected: Bool) {
        var request = CacheRequest(method: .get, fields: [:])
        request.fields[.cacheControl] = own
        let replaces = ReuseDecision.replacesError(
            head(["cache-control": control]),
            for: request,
            [],
            at: arrival + age * 1000,
            CacheRules()
        )
        #expect(replaces == expected)
    }

    @Test(
        "A range of a stored response follows RFC 9110",
        arguments: [
            ("bytes=0-3", .part(0..<4)), ("bytes=8-99", .part(8..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=-99", .part(0..<10)), ("bytes=4-", .part(4..<10)), ("bytes=10-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable), ("bytes=0-1,3-4", .whole), ("lines=0-1", .whole), ("bytes=3-1", .whole),
            ("bytes=x-1", .whole),
        ] as [(String, StoredRange)]
    )
    func ranges(_ value: String, _ expected: StoredRange) {
        var fields: HTTPFields = [:]
        fields[.range] = value
        #expect(StoredRange(fields, of: head(["etag": "\"1\""]), length: 10) == expected)
        fields[.ifRange] = "\"2\""
        #expect(StoredRange(fields, of: head(["etag": "\"1\""]), length: 10) == .whole)
    }

    @Test(
        "A request's own conditions count only for a stored response with a 2xx status",
        arguments: [(200, true), (203, true), (301, false), (404, false), (500, false)]
    )
    func ownConditions(_ status: Int, _ expected: Bool) {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let stored = head(["etag": "\"1\"", "last-modified": date], status: status)
        for (name, value) in [(HTTPField.Name.ifNoneMatch, "\"1\""), (.ifNoneMatch, "*"), (.ifModifiedSince, date)] {
            var fields: HTTPFields = [:]
            fields[name] = value
            #expect(Validation.isNotModified(stored, for: fields, at: arrival) == expected, "\(name): \(value)")
        }
    }

    @Test(
        "Without Last-Modified the date counts for If-Modified-Since, or the arrival",
        arguments: [
            (["date": "Sun, 06 Nov 1994 08:49:30 GMT"], "Sun, 06 Nov 1994 08:49:30 GMT", true),
            (["date": "Sun, 06 Nov 1994 08:49:30 GMT"], "Sun, 06 Nov 1994 08:49:29 GMT", false),
            ([:], "Sun, 06 Nov 1994 08:49:37 GMT", true), ([:], "Sun, 06 Nov 1994 08:49:36 GMT", false),
            (["last-modified": "yesterday"], "Sun, 06 Nov 1994 08:49:37 GMT", false),
            // A year of two digits is at most 50 years ahead of the clock of the cache.
            ([:], "Sunday, 06-Nov-44 08:49:37 GMT", true), ([:], "Tuesday, 06-Nov-45 08:49:37 GMT", false),
        ] as [([String: String], String, Bool)]
    )
    func modifiedSince(_ stored: [String: String], _ date: String, _ expected: Bool) {
        var fields: HTTPFields = [:]
        fields[.ifModifiedSince] = date
        #expect(Validation.isNotModified(head(stored), for: fields, at: arrival) == expected)
    }

    /// A name that is not in UTF-8, in two spellings: `HTTPField.value` has the same replacement character for both.
    @Test("Values that differ in one byte outside ASCII are different")
    func otherBytes() throws {
        func field(_ name: HTTPField.Name, _ byte: UInt8) -> HTTPField {
            HTTPField(name: name, lenientValue: Array("\"caf".utf8) + [byte, UInt8(ascii: "\"")])
        }
        var fields: HTTPFields = [:]
        fields.append(field(.eTag, 0xE9))
        let stored = head([:]).with(fields, requestTime: arrival, responseTime: arrival)
        #expect(Validation.conditions(for: stored)[fields: .ifNoneMatch] == [field(.ifNoneMatch, 0xE9)])
        let name = try #require(HTTPField.Name("x-name"))
        func request(_ byte: UInt8) -> CacheRequest {
            var fields: HTTPFields = [:]
            for name in [HTTPField.Name.ifNoneMatch, name, .authorization] { fields.append(field(name, byte)) }
            return CacheRequest(method: .get, fields: fields)
        }
        let (known, names) = (request(0xE9), ["x-name", "authorization"])
        for (byte, isSame) in [(UInt8(0xE9), true), (0xE8, false)] {
            let request = request(byte)
            #expect(Validation.isNotModified(stored, for: request.fields, at: arrival) == isSame)
            for name in names {
                var values = VaryValues(request)
                #expect(values.match(VaryFields(names: [name], of: known)) == isSame)
            }
            var newer: HTTPFields = [:]
            newer.append(field(.eTag, byte))
            let updated = Validation.updated(stored, by: newer, requestTime: arrival, responseTime: arrival)
            #expect((updated != nil) == isSame)
        }
    }

    @Test("Several entity tags identify no response")
    func severalTags() {
        var fields: HTTPFields = [:]
        for tag in ["\"1\"", "\"2\""] { fields.append(HTTPField(name: .eTag, value: tag)) }
        let stored = head([:]).with(fields, requestTime: arrival, responseTime: arrival)
        #expect(!stored.hasValidator && Validation.conditions(for: stored).isEmpty)
        var own: HTTPFields = [:]
        own[.ifNoneMatch] = "\"1\""
        #expect(Validation.isNotModified(stored, for: own, at: arrival) == false)
    }

    @Test("A 304 response replaces fields, and not those about the stored bytes")
    func update() throws {
        let old = head(["etag": "\"1\"", "x": "old", "y": "old", "content-length": "5", "age": "9"])
        var fields: HTTPFields = [:]
        fields[.eTag] = "W/\"1\""
        fields[.contentLength] = "0"
        fields[try #require(HTTPField.Name("x"))] = "new"
        let new = try #require(Validation.updated(old, by: fields, requestTime: 1, responseTime: 2))
        #expect(new.fields[.contentLength] == "5")
        #expect(new.fields[try #require(HTTPField.Name("x"))] == "new")
        #expect(new.fields[try #require(HTTPField.Name("y"))] == "old")
        #expect(new.fields[.age] == nil)
        #expect(new.responseTime == 2)
        fields[.eTag] = "\"2\""
        #expect(Validation.updated(old, by: fields, requestTime: 1, responseTime: 2) == nil)
    }

    @Test("Requests match a variant by its normalized fields")
    func variants() {
        var first = CacheRequest(method: .get, fields: [:])
        first.fields[.acceptLanguage] = "DE,  en"
        let vary = VaryFields(names: ["accept-encoding", "accept-language"], of: first)
        func match(_ request: CacheRequest) -> Bool {
            var values = VaryValues(request)
            return values.match(vary)
        }
        #expect(match(first))
        var second = first
        second.fields[.acceptLanguage] = "de, EN"
        #expect(match(second))
        second.fields[.acceptLanguage] = "en, de"
        #expect(!match(second))
        second = first
        second.requestsCodings = true
        #expect(!match(second))
    }
}
