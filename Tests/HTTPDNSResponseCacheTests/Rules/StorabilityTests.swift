// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNSResponseCache

struct StorabilityTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let control: String
        var status = 200
        var response: [String: String] = [:]
        var request: [String: String] = [:]
        let shared: Bool
        let own: Bool
        var testDescription: String { "\(control) \(status) \(response) \(request)" }
    }

    @Test(
        "Directives, status, credentials and cookies decide in both modes",
        arguments: [
            Case(control: "max-age=60", shared: true, own: true),
            Case(control: "no-store, max-age=60", shared: false, own: false),
            Case(control: "private, max-age=60", shared: false, own: true),
            Case(control: "private=\"set-cookie\", max-age=60", shared: false, own: true),
            Case(control: "no-store, must-understand, max-age=60", shared: true, own: true),
            Case(control: "must-understand, max-age=60", status: 499, shared: false, own: false),
            Case(control: "max-age=60", status: 499, shared: true, own: true),
            Case(control: "max-age=60", status: 206, shared: false, own: false),
            Case(control: "max-age=60", status: 304, shared: false, own: false),
            Case(control: "max-age=60", status: 401, shared: false, own: false),
            Case(control: "max-age=60, public", status: 412, shared: false, own: false),
            Case(control: "max-age=60, public", status: 416, shared: false, own: false),
            Case(control: "max-age=60, public", status: 417, shared: false, own: false),
            Case(control: "max-age=60", status: 404, shared: true, own: true),
            Case(control: "", status: 302, response: ["etag": "\"1\""], shared: false, own: false),
            Case(control: "max-age=60", status: 302, shared: true, own: true),
            Case(control: "", shared: false, own: false),
            Case(control: "", response: ["etag": "\"1\""], shared: true, own: true),
            Case(control: "no-cache", response: ["etag": "\"1\""], shared: true, own: true),
            Case(control: "no-cache, max-age=60", shared: false, own: false),
            Case(control: "max-age=60", response: ["vary": "*"], shared: false, own: false),
            Case(control: "max-age=60", response: ["set-cookie": "a=1"], shared: false, own: true),
            Case(control: "max-age=60", response: ["set-cookie2": "a=1"], shared: false, own: true),
            Case(control: "max-age=60", request: ["cookie": "a=1"], shared: false, own: true),
            Case(control: "max-age=60", request: ["authorization": "x"], shared: false, own: true),
            Case(control: "max-age=60, public", request: ["authorization": "x"], shared: true, own: true),
            Case(control: "s-maxage=60", request: ["authorization": "x"], shared: true, own: false),
            Case(control: "max-age=60, must-revalidate", request: ["authorization": "x"], shared: true, own: true),
            Case(control: "max-age=60", request: ["cache-control": "no-store"], shared: false, own: false),
        ]
    )
    func storing(_ row: Case) {
        var fields = row.response
        if !row.control.isEmpty { fields["cache-control"] = row.control }
        let head = head(fields, status: row.status)
        var request = CacheRequest(method: .get, fields: [:])
        for (name, value) in row.request { if let name = HTTPField.Name(name) { request.fields[name] = value } }
        for (mode, expected) in [(CacheRules.Mode.shared, row.shared), (.private, row.own)] {
            let rules = CacheRules(mode: mode)
            let may = Storability.mayStore(head, receivedFields: head.fields, to: request, rules)
            #expect(may == expected, "\(mode)")
        }
        request.method = .post
        #expect(!Storability.mayStore(head, receivedFields: head.fields, to: request, CacheRules()))
    }

    @Test(
        "A response that is not stored is counted by its reason",
        arguments: [
            ("max-age=60", ["cookie": "a=1"], (1, 0, 0)), ("max-age=60", ["authorization": "x"], (0, 1, 0)),
            ("no-store", [:], (0, 0, 1)), ("private, max-age=60", [:], (0, 0, 1)), ("max-age=0", [:], (0, 0, 0)),
            ("max-age=60", ["authorization": "Digest a=b"], (0, 1, 0)),
        ] as [(String, [String: String], (Int, Int, Int))]
    )
    func reasons(_ control: String, _ fields: [String: String], _ counts: (Int, Int, Int)) async throws {
        let client = try await CachedClient(ScriptedWire([Scripted("x", ["cache-control": control])]))
        for _ in 0..<2 { _ = try await client.get(fields: fields) }
        let counters = client.cache.counters
        #expect(counters.notStored == 2 && counters.stored == 0)
        #expect(counters.notStoredForCookies == counts.0 * 2)
        #expect(counters.notStoredForCredentials == counts.1 * 2)
        #expect(counters.notStoredByDirective == counts.2 * 2)
    }

    @Test("Fields of a connection or about credentials are not stored, and cookies are")
    func fields() {
        let head = head([
            "connection": "x-own, close", "x-own": "1", "set-cookie": "a=1", "transfer-encoding": "chunked",
            "etag": "\"1\"", "authentication-info": "nextnonce=\"1\"", "proxy-authentication-info": "nextnonce=\"1\"",
            "trailer": "x-sum",
        ])
        #expect(Set(StorableFields.of(head.fields).map(\.name)) == [.eTag, .setCookie])
    }
}
