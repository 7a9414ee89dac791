// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSPrimitives
import HTTPDNSResponseCache
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

/// Each case has a URL of its own, at which nginx answers with the fields of the case. The clock of the cache is moved.
@Suite("RFC 9111 before nginx", .enabled(if: ServerRig.isAvailable([.nginx])))
struct NginxRulesTests {
    struct Step: Sendable {
        var method = HTTPRequest.Method.get
        var fields: [String: String] = [:]
        /// Seconds to wait before.
        var after: Int64 = 0
        let source: HTTPDNSClient.CacheSource?

        static func get(_ source: HTTPDNSClient.CacheSource, after: Int64 = 0, _ fields: [String: String] = [:]) -> Step
        {
            Step(fields: fields, after: after, source: source)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        /// The fields of each response; `@60` is the date in 60 s.
        let fields: [String]
        var status = 200
        var modes: [HTTPDNSClient.ResponseCache.Mode] = [.shared, .private]
        let steps: [Step]

        init(
            _ fields: [String],
            status: Int = 200,
            modes: [HTTPDNSClient.ResponseCache.Mode] = [.shared, .private],
            _ steps: [Step]
        ) {
            (self.fields, self.status, self.modes, self.steps) = (fields, status, modes, steps)
        }

        var testDescription: String {
            "\(status) \(fields.joined(separator: "; ")): \(steps.map { $0.source?.description ?? "-" })"
        }
    }

    private static let german = ["accept-language": "de"]
    private static let english = ["accept-language": "en"]

    static let lifetimes = [
        Case(["Cache-Control: max-age=60"], [.get(.miss), .get(.hit, after: 30), .get(.miss, after: 60)]),
        Case(["Expires: @60"], [.get(.miss), .get(.hit, after: 30), .get(.miss, after: 60)]),
        Case(["Expires: @60", "Cache-Control: max-age=1"], [.get(.miss), .get(.miss, after: 30)]),
        Case(["Expires: 0"], [.get(.miss), .get(.miss)]),
        Case(["Cache-Control: max-age=60", "Age: 50"], [.get(.miss), .get(.hit, after: 2), .get(.miss, after: 30)]),
        Case(["Cache-Control: s-maxage=1, max-age=60"], modes: [.private], [.get(.miss), .get(.hit, after: 30)]),
        Case(["Cache-Control: s-maxage=1, max-age=60"], modes: [.shared], [.get(.miss), .get(.miss, after: 30)]),
        // A lifetime is guessed only for a URL without a query.
        Case(["Last-Modified: @-86400"], [.get(.miss), .get(.validated, after: 1)]),
        Case(["Cache-Control: max-age=60"], status: 404, [.get(.miss), .get(.hit)]),
        Case(["Cache-Control: max-age=60"], status: 500, [.get(.miss), .get(.hit)]),
        Case([], status: 404, [.get(.miss), .get(.miss)]),
    ]

    static let directives = [
        Case(["Cache-Control: no-store, max-age=60"], [.get(.miss), .get(.miss)]),
        Case(["Cache-Control: no-cache", "ETag: \"1\""], [.get(.miss), .get(.validated)]),
        Case(["Cache-Control: max-age=60, private"], modes: [.private], [.get(.miss), .get(.hit)]),
        Case(["Cache-Control: max-age=60, private"], modes: [.shared], [.get(.miss), .get(.miss)]),
        Case(["Expires: @60", "Pragma: no-cache"], [.get(.miss), .get(.miss)]),
        Case(
            ["Cache-Control: max-age=60, must-revalidate", "ETag: \"1\""],
            [.get(.miss), .get(.validated, after: 90, ["cache-control": "max-stale"])]
        ),
        Case(
            ["Cache-Control: max-age=60, immutable"],
            [.get(.miss), .get(.hit, after: 30, ["cache-control": "max-age=0"])]
        ),
        Case(
            ["Cache-Control: max-age=60, stale-while-revalidate=60"],
            [.get(.miss), .get(.stale, after: 90)]
        ),
        Case(
            ["Cache-Control: max-age=60", "ETag: \"1\""],
            [
                .get(.miss), .get(.validated, after: 30, ["cache-control": "max-age=10"]),
                .get(.validated, after: 30, ["cache-control": "min-fresh=50"]),
                .get(.stale, after: 90, ["cache-control": "max-stale"]),
                .get(.validated, ["cache-control": "no-cache"]), .get(.validated, ["pragma": "no-cache"]),
            ]
        ),
        Case(["Cache-Control: max-age=60"], [.get(.unavailable, ["cache-control": "only-if-cached"]), .get(.miss)]),
        Case(["Cache-Control: max-age=60"], [.get(.miss, ["cache-control": "no-store"]), .get(.miss)]),
    ]

    static let selection = [
        Case(["Cache-Control: max-age=60", "ETag: \"1\""], [.get(.miss), .get(.validated, after: 90)]),
        Case(["Cache-Control: max-age=60", "ETag: W/\"1\""], [.get(.miss), .get(.validated, after: 90)]),
        Case(["Cache-Control: max-age=60", "Last-Modified: @-86400"], [.get(.miss), .get(.validated, after: 90)]),
        Case(
            ["Cache-Control: max-age=60", "Vary: Accept-Language"],
            [.get(.miss, german), .get(.hit, german), .get(.miss, english), .get(.miss), .get(.hit, german)]
        ),
        Case(
            ["Cache-Control: max-age=60", "Vary: Accept-Language, Accept"],
            [.get(.miss, german), .get(.hit, german), .get(.miss, german.merging(["accept": "text/html"]) { $1 })]
        ),
        Case(["Cache-Control: max-age=60", "Vary: *"], [.get(.miss), .get(.miss)]),
        Case(
            ["Cache-Control: max-age=60"],
            [
                .get(.miss), Step(method: .post, source: nil), .get(.miss), Step(method: .delete, source: nil),
                .get(.miss),
            ]
        ),
        Case(
            ["Cache-Control: max-age=60"],
            [.get(.miss), .get(.hit, ["range": "bytes=0-3"]), Step(method: .head, source: .hit)]
        ),
        Case(["Cache-Control: max-age=60", "Location: /echo"], status: 301, [.get(.miss), .get(.hit)]),
        Case(["Location: /echo"], status: 302, [.get(.miss), .get(.miss)]),
        Case(
            ["Cache-Control: max-age=60"],
            modes: [.shared],
            [.get(.miss, ["authorization": "a"]), .get(.miss, ["authorization": "a"])]
        ),
        Case(
            ["Cache-Control: max-age=60, public"],
            modes: [.shared],
            [
                .get(.miss, ["authorization": "a"]), .get(.hit, ["authorization": "a"]),
                .get(.miss, ["authorization": "b"]),
            ]
        ),
        Case(
            ["Cache-Control: max-age=60"],
            modes: [.private],
            [
                .get(.miss, ["authorization": "a"]), .get(.hit, ["authorization": "a"]),
                .get(.miss, ["authorization": "b"]),
            ]
        ),
    ]

    @Test("Lifetimes, ages and statuses", arguments: lifetimes)
    func lifetime(_ row: Case) async throws { try await run(row) }

    @Test("Directives of responses and of requests", arguments: directives)
    func directive(_ row: Case) async throws { try await run(row) }

    @Test("Validation, variants, changes, ranges, redirects and credentials", arguments: selection)
    func selecting(_ row: Case) async throws { try await run(row) }

    @Test("A response that ends too early is not stored, and a part is no whole")
    func incomplete() async throws {
        let (rig, time) = (try await ServerRig.shared(), TestTime(start: Int64(Date().timeIntervalSince1970)))
        let cache = HTTPDNSClient.ResponseCache(.init(), clock: time.clock, time: SystemTimeSource())
        let client = try await Self.client(cache, rig)
        let base = "http://rules-cache.wild.test:\(rig.httpPort)"
        await #expect(throws: HTTPDNSClientError.self) {
            try await client.get(base + "/truncated").body.collect(upTo: .mebibytes(1))
        }
        let part = try await client.get(base + "/text.txt", headerFields: [.range: "bytes=0-3"])
        #expect(part.status == .partialContent && part.cacheSource == .miss)
        let bytes = try await part.body.collect(upTo: .mebibytes(1))
        #expect(cache.entryCount == 0)
        let whole = try await client.get(base + "/text.txt").body.collect(upTo: .mebibytes(1))
        let again = try await client.get(base + "/text.txt", headerFields: [.range: "bytes=0-3"])
        #expect(again.cacheSource == .hit && whole.count > 4 && Array(whole.prefix(4)) == bytes)
        #expect(try await again.body.collect(upTo: .mebibytes(1)) == bytes)
        try await client.shutdown()
    }

    private static func client(_ cache: HTTPDNSClient.ResponseCache, _ rig: ServerRig) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = cache
        configuration.redirects = .off
        configuration.retries = .off
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("rules-cache.wild.test"): .addresses([.init("127.0.0.2:\(rig.httpPort)")])
        ]
        return try await HTTPDNSClient(configuration: configuration)
    }

    private func run(_ row: Case) async throws {
        let rig = try await ServerRig.shared()
        for mode in row.modes {
            let time = TestTime(start: Int64(Date().timeIntervalSince1970))
            var settings = HTTPDNSClient.ResponseCache.Settings()
            settings.mode = mode
            let cache = HTTPDNSClient.ResponseCache(settings, clock: time.clock, time: SystemTimeSource())
            let client = try await Self.client(cache, rig)
            let fields = row.fields.map { "f=\(Self.percentEncoded(Self.dated($0)))" }
            let query = (["code=\(row.status)"] + fields).joined(separator: "&")
            var bodies: [String: HTTPDNSClient.CacheSource?] = [:]
            for (number, step) in row.steps.enumerated() {
                time.move(seconds: step.after)
                var request = HTTPDNSClient.Request(
                    method: step.method,
                    url: "http://rules-cache.wild.test:\(rig.httpPort)/fields?\(query)"
                )
                for (name, value) in step.fields {
                    if let name = HTTPField.Name(name) { request.headerFields[name] = value }
                }
                let response = try await client.execute(request)
                let body = String(decoding: try await response.body.collect(upTo: .kibibytes(4)), as: UTF8.self)
                #expect(response.cacheSource == step.source, "\(mode), step \(number)")
                guard step.method == .get, !step.fields.keys.contains("range"), response.cacheSource != .unavailable
                else { continue }
                // Each response that nginx makes has a number of its own.
                #expect((bodies[body] == nil) == (response.cacheSource == .miss), "\(mode), step \(number)")
                bodies[body] = response.cacheSource
            }
            try await client.shutdown()
        }
    }

    /// Returns a field with `@` and seconds replaced by the date.
    private static func dated(_ field: String) -> String {
        guard let at = field.firstIndex(of: "@"), let seconds = TimeInterval(field[field.index(after: at)...]) else {
            return field
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return field[..<at] + formatter.string(from: Date(timeIntervalSinceNow: seconds))
    }

    private static func percentEncoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }
}
