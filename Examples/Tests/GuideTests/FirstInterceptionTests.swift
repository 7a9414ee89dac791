// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import HTTPTypes
import Testing

struct FirstInterceptionTests {
    /// Names the source of the requests for one host, and of no others.
    struct SourceMark: HTTPDNSClient.Interceptor {
        static let field = HTTPField.Name("X-Request-Source")!
        let predicate: HTTPDNSClient.RequestPredicate? = .host("api.shop.example")

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            var request = request
            request.headerFields[Self.field] = "shop"
            return try await next(request, context)
        }
    }

    @Test("Requests for the API's host, and no others, name their source")
    func marked() async throws {
        let stubs = HTTPDNSStubs()
        try stubs.on(.get, "https://api.shop.example/v1/items").respond(.json(["lamp", "chair"]))
        stubs.on(.head, "https://img.shop.example/a.jpg").respond(.status(.ok))
        var configuration = HTTPDNSClient.Configuration.stubbed(stubs)
        configuration.networkInterceptors.append(SourceMark())
        let client = try await HTTPDNSClient(configuration: configuration)
        let items = try await client.get("https://api.shop.example/v1/items").body.decode([String].self)
        _ = try await client.head("https://img.shop.example/a.jpg")
        #expect(items == ["lamp", "chair"])
        #expect(stubs.requests.map { $0.headerFields[SourceMark.field] } == ["shop", nil])
        try stubs.verify()
    }

    @Test("A recorded response is played back without its server")
    func playedBack() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).har"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var recorded = HTTPDNSClient.Configuration()
        recorded.schemeHandlers["app"] = { _ in .init(head: HTTPResponse(status: .ok), body: .bytes([1, 2])) }
        let recording = try HTTPDNSRecording(path, mode: .record)
        recorded.use(recording)
        let first = try await HTTPDNSClient(configuration: recorded).get("app://shop/v1/items")
        let body = try await first.body.collect(upTo: .kibibytes(64))
        try recording.save()
        var playing = HTTPDNSClient.Configuration()
        playing.use(try HTTPDNSRecording(path, mode: .playBack))
        let second = try await HTTPDNSClient(configuration: playing).get("app://shop/v1/items")
        #expect(try await second.body.collect(upTo: .kibibytes(64)) == body)
    }
}
