// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// For all files of the module.
@_exported public import ClientRig
import HTTPDNS

@testable import HTTPDNSTesting

/// Runs `body` with a client of these stubs, and shuts the client down.
func withStubs<Value>(
    _ stubs: HTTPDNSStubs,
    configure: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in },
    _ body: (HTTPDNSClient) async throws -> Value
) async throws -> Value {
    var configuration = HTTPDNSClient.Configuration.stubbed(stubs)
    try configure(&configuration)
    return try await withHTTPDNSClient(configuration: configuration, body)
}

extension HTTPDNSStubs.Answer {
    /// An answer of these tests.
    static func reply(
        _ text: String = "",
        _ status: HTTPResponse.Status = .ok,
        _ fields: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        reply(bytes: Array(text.utf8), status, fields)
    }

    static func reply(
        bytes: [UInt8],
        _ status: HTTPResponse.Status = .ok,
        _ fields: HTTPFields = [:]
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { _ in
                HTTPDNSClient.Response(head: HTTPResponse(status: status, headerFields: fields), body: .bytes(bytes))
            },
            description: "\(status.code)"
        )
    }

    /// An answer by a closure.
    static func computed(
        _ respond: @escaping @Sendable (HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(respond: { try await respond($0.request) }, description: "computed")
    }

    /// An answer by the real server.
    static let real = HTTPDNSStubs.Answer(
        respond: { try await $0.send($0.request, $0.context) },
        description: "real"
    )
}

extension HTTPDNSClient {
    /// The body of the response to a GET, as text.
    func text(_ url: String) async throws -> String {
        String(decoding: try await get(url).body.collect(upTo: .mebibytes(1)), as: UTF8.self)
    }
}
