// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import Testing

struct BodyContentTypeTests {
    /// Returns the type that an interceptor saw, and the one that was sent.
    private func types(
        _ body: HTTPDNSClient.Request.Body,
        _ fields: HTTPFields = [:],
        _ change: @escaping @Sendable (inout HTTPDNSClient.Request) async throws -> Void = { _ in }
    ) async throws -> [String?] {
        let rig = try Rig {
            $0.networkInterceptors = [
                Around.before {
                    $0.headerFields[.userAgent] = $0.headerFields[.contentType] ?? "none"
                    try await change(&$0)
                }
            ]
        }
        var request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", headerFields: fields)
        request.body = body
        _ = try await rig.client.execute(request)
        let sent = try #require(rig.wire.requests.first).headerFields
        return [sent[.userAgent], sent[.contentType]]
    }

    @Test("An interceptor sees the type of a body, which stays when it replaces the bytes")
    func signing() async throws {
        let multipart = HTTPDNSClient.Request.Body.multipart([.field("a", "1")])
        let bodies: [(HTTPDNSClient.Request.Body, String)] = [
            (try .json([1]), "application/json"), (.form(["a": "1"]), "application/x-www-form-urlencoded"),
            (multipart, multipart.contentType ?? "-"),
        ]
        for (body, type) in bodies {
            #expect(try await types(body) == [type, type])
            let signed = try await types(body) { request in
                request.body = .bytes(try await request.body.collect(upTo: .kibibytes(64)))
            }
            #expect(signed == [type, type])
        }
        #expect(try await types(.bytes([1])) == ["none", nil])
    }

    @Test("A new body brings its own type, no body none, and a field of the request stays")
    func replaced() async throws {
        let form = HTTPDNSClient.Request.Body.form(["a": "1"])
        let seen = "application/x-www-form-urlencoded"
        #expect(try await types(form) { $0.body = try .json([1]) } == [seen, "application/json"])
        #expect(try await types(form) { $0.body = .none } == [seen, nil])
        #expect(try await types(form) { $0.headerFields[.contentType] = "a/b" } == [seen, "a/b"])
        #expect(try await types(form) { $0.headerFields[.contentType] = nil } == [seen, seen])
        #expect(try await types(form, [.contentType: "a/b"]) { $0.body = try .json([1]) } == ["a/b", "a/b"])
    }
}
