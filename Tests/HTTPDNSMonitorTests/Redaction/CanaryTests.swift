// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMonitor

/// Calls that send and receive a secret at every place where one may be.
struct Canaries {
    /// The places of the secrets. The secret of a place is `canary-` and its index.
    static let places = [
        "user information of a URL", "query item", "fragment", "Authorization", "Cookie", "X-Api-Key", "Referer",
        "Location", "Set-Cookie", "JSON of a request", "JSON of a response", "form", "multipart form",
        "body withheld by a rule", "response in a content coding", "query item of a failed call",
    ]

    static func secret(_ place: String) -> String {
        places.firstIndex(of: place).map { "canary-\($0)-z" } ?? "unknown place"
    }

    let monitored: MonitoredClient
    let server: RawServer

    /// Makes the calls, and checks that the secrets were sent or received.
    init() async throws {
        func secret(_ place: String) -> String { Self.secret(place) }
        let json = "{\"a\": {\"access_token\": \"\(secret("JSON of a response"))\"}}"
        let jsonFields = "Content-Type: application/json\r\nSet-Cookie: s=\(secret("Set-Cookie")); Path=/\r\n"
        let redirect =
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /next?token=\(secret("Location"))\r\n"
            + "Set-Cookie: t=\(secret("Set-Cookie"))\r\nContent-Length: 0\r\n\r\n"
        let jsonBody = "{\"password\": \"\(secret("JSON of a request"))\"}"
        let form = "user=a&password=\(secret("form"))"
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\(secret("multipart form"))\r\n--b--\r\n"
        let withheld = "free text with \(secret("body withheld by a rule"))"
        let coded = secret("response in a content coding")
        server = try RawServer(
            .readHead,
            .read(jsonBody.utf8.count),
            .sendText(redirect),
            .readHead,
            .read(jsonBody.utf8.count),
            .respond(json, fields: jsonFields),
            .readHead,
            .read(form.utf8.count),
            .respond(json),
            .readHead,
            .read(multipart.utf8.count),
            .respond(""),
            .readHead,
            .read(withheld.utf8.count),
            .respond(withheld),
            .readHead,
            .respond(coded, fields: "Content-Encoding: secret\r\n"),
            .hang
        )
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let settings = Monitor.Settings.with {
            $0.requestBodyLimit = .kibibytes(4)
            $0.responseBodyLimit = .kibibytes(4)
            $0.withholdsBodies = .path(prefix: "/private")
        }
        monitored = try await MonitoredClient(["one.test": server.port, "gone.test": gone.port], settings) {
            $0.allowsCleartextCredentials = true
        }

        var request = HTTPDNSClient.Request(
            method: .post,
            url: "http://user:\(secret("user information of a URL"))@one.test/a?b=c&sig=\(secret("query item"))"
                + "#\(secret("fragment"))",
            body: .text(jsonBody)
        )
        request.headerFields = [.contentType: "application/json"]
        request.headerFields[.cookie] = "c=\(secret("Cookie"))"
        request.headerFields[.referer] = "http://two.test/?code=\(secret("Referer"))&x=y"
        if let name = HTTPField.Name("X-Api-Key") { request.headerFields[name] = secret("X-Api-Key") }
        #expect(await monitored.call(request) == Array(json.utf8))

        request = HTTPDNSClient.Request(method: .post, url: "http://one.test/form", body: .text(form))
        request.headerFields = [
            .contentType: "application/x-www-form-urlencoded", .authorization: "Bearer \(secret("Authorization"))",
        ]
        #expect(await monitored.call(request) == Array(json.utf8))

        request = HTTPDNSClient.Request(method: .post, url: "http://one.test/multipart", body: .text(multipart))
        request.headerFields = [.contentType: "multipart/form-data; boundary=b"]
        #expect(await monitored.call(request) == [])

        request = HTTPDNSClient.Request(method: .post, url: "http://one.test/private/a", body: .text(withheld))
        #expect(await monitored.call(request) == Array(withheld.utf8))

        request = HTTPDNSClient.Request(url: "http://one.test/coded") { $0.decodesBody = false }
        #expect(await monitored.call(request) == Array(coded.utf8))

        let failing = "http://gone.test/?token=\(secret("query item of a failed call"))"
        #expect(await monitored.get(failing) == nil)
    }

    /// The texts in which a secret is found.
    func texts(with secret: String, in outputs: [String: String]) -> [String] {
        outputs.filter { $0.value.contains(secret) }.map(\.key)
    }
}

struct CanaryTests {
    @Test("No secret is in a record, in its JSON, or in a printed form")
    func records() async throws {
        let canaries = try await Canaries()
        let records = canaries.monitored.monitor.records
        try #require(records.count == 6 && records[0].hops.count == 2)
        var outputs: [String: String] = [:]
        for (number, record) in records.enumerated() {
            var dumped = ""
            dump(record, to: &dumped)
            outputs["dump \(number)"] = dumped
            outputs["text \(number)"] = "\(record)"
            outputs["JSON \(number)"] = String(decoding: try RecordJSON.bytes(record), as: UTF8.self)
        }
        for place in Canaries.places {
            #expect(canaries.texts(with: Canaries.secret(place), in: outputs) == [], "\(place)")
        }
        // Base64 of a body would hide a secret from this search.
        #expect(records.allSatisfy { $0.requestBody?.base64 == nil && $0.responseBody?.base64 == nil })
        // What is around the secrets is there.
        #expect(
            records[0].hops.map(\.url) == [
                "http://one.test/a?b=c&sig=(redacted)", "http://one.test/next?token=(redacted)",
            ]
        )
        #expect(records[0].hops[0].responseFields[.location] == "/next?token=(redacted)")
        #expect(records[0].hops[0].requestFields[.referer] == "http://two.test/?code=(redacted)&x=y")
        #expect(records[0].requestBody?.text == "{\"password\": \"(redacted)\"}")
        #expect(records[0].responseBody?.text == "{\"a\": {\"access_token\": \"(redacted)\"}}")
        #expect(records[1].requestBody?.text == "user=a&password=(redacted)")
        #expect(records[2].requestBody?.withheld == .secretPart)
        #expect(records[3].requestBody?.withheld == .rule && records[3].responseBody?.withheld == .rule)
        #expect(records[4].responseBody?.withheld == .coded)
        #expect(records[5].url == "http://gone.test/?token=(redacted)" && records[5].outcome == "failed")
        try await canaries.monitored.client.shutdown()
    }
}
