// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@Suite(
    "Rewriting over the wire",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct RewritingOverTheWireTests {
    @Test("A rule changes Host, SNI and path that the server receives")
    func hostAndPath() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        configuration.applicationInterceptors = [
            try HTTPDNSClient.URLRewriting(["old.test/a": "one.test/echo", "old.test": "two.test"])
        ]
        try await withClient(configuration) { client in
            let response = try await client.get("https://old.test:\(rig.tlsPort)/a/rewritten?q=1")
            let echo = try await Echo(response)
            #expect(echo.host == "one.test:\(rig.tlsPort)" && echo.sni == "one.test")
            #expect(echo.target == "/echo/rewritten?q=1")
        }
    }

    @Test(
        "A request with foreign marks is mapped, and they are removed on request",
        arguments: [true, false]
    )
    func foreignMarks(areRemoved: Bool) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(mappings: ["marks.wild.test": .addresses(["127.0.0.3"])])
        if areRemoved { configuration.applicationInterceptors = [HTTPDNSClient.ForeignMarks()] }
        try await withClient(configuration) { client in
            let url = "https://marks.wild.test:\(rig.tlsPort)/echo#__webviewproxyreq__"
            let fields: HTTPFields = [try #require(HTTPField.Name("X-RNCache")): "1", .accept: "text/plain"]
            let echo = try await Echo(try await client.get(url, headerFields: fields))
            #expect(echo.address == "127.0.0.3" && echo.sni == "marks.wild.test" && echo.target == "/echo")
            #expect(echo.headers["accept"] == .one("text/plain"))
            #expect(echo.headers["x-rncache"] == (areRemoved ? nil : .one("1")))
        }
    }

    @Test("A body in gzip is changed after decoding, and trailers survive")
    func decodedBody() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        configuration.networkInterceptors = [
            HTTPDNSClient.ResponseRewriting { _, response in
                response.changeBody { $0.replacing("e", with: "EEE") }
            }
        ]
        let plain = try await withClient(rig.settings()) { client in
            try await client.get("https://one.test:\(rig.tlsPort)/text.txt").text()
        }
        #expect(plain.contains("e"))
        try await withClient(configuration) { client in
            let response = try await client.get("https://one.test:\(rig.tlsPort)/gzip/text.txt")
            #expect(!response.headerFields.contains(.contentEncoding))
            #expect(!response.headerFields.contains(.contentLength))
            #expect(try await response.text() == plain.replacing("e", with: "EEE"))
            let trailing = try await client.get("https://one.test:\(rig.http1Port)/trailer")
            try await trailing.text()
            #expect(trailing.body.trailers?[try #require(HTTPField.Name("X-End"))] == "bye")
        }
    }
}
