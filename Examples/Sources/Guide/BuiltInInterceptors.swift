// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

enum BuiltInInterceptors {
    static func rewriteURLs() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()

        configuration.applicationInterceptors = [
            try HTTPDNSClient.URLRewriting(["old.example": "new.example", "old.example/a": "one.example/b"])
        ]

        return try await HTTPDNSClient(configuration: configuration)
    }

    static func rewriteResponses() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()

        configuration.applicationInterceptors = [
            HTTPDNSClient.ResponseRewriting { request, response in
                response.head.headerFields[.server] = nil
                response.changeBody { $0.replacing("http://old.example", with: "https://new.example") }
            }
        ]

        return try await HTTPDNSClient(configuration: configuration)
    }

    static func removeMarks() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()

        configuration.applicationInterceptors = [HTTPDNSClient.ForeignMarks()]

        return try await HTTPDNSClient(configuration: configuration)
    }

    static func endLoops() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()

        configuration.networkInterceptors = [try HTTPDNSClient.CDNLoop(id: "gateway-1.example")]

        return try await HTTPDNSClient(configuration: configuration)
    }

    static func answerScheme() async throws {
        var configuration = HTTPDNSClient.Configuration()

        configuration.schemeHandlers["app"] = { request in
            let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"])
            return HTTPDNSClient.Response(head: head, body: .bytes(Array("answer to \(request.url)".utf8)))
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        let response = try await client.get("app://settings/theme")

        print(response.status)
        try await client.shutdown()
    }
}
