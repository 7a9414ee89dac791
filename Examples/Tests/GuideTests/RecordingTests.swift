// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import HTTPTypes
import Testing

struct RecordingTests {
    private func update() async throws {
        let recording = try HTTPDNSRecording("Tests/Recordings/shop.har", mode: .update)
        var configuration = HTTPDNSClient.Configuration()
        configuration.use(recording)

        let client = try await HTTPDNSClient(configuration: configuration)
        let response = try await client.get("https://api.shop.example/v1/items")
        let items = try await response.body.decode([String].self)
        try recording.save()

        #expect(!items.isEmpty)
        try await client.shutdown()
    }

    @Test("A recorded response is played back without its server")
    func playedBack() async throws {
        var options = HTTPDNSRecording.Options()
        options.matchedFields = [.acceptLanguage]
        options.ignoredQueryItems = ["timestamp"]
        options.excludedQueryItems = ["access_token"]

        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).har").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        for (mode, query) in [(HTTPDNSRecording.Mode.record, "timestamp=1"), (.playBack, "timestamp=2")] {
            let recording = try HTTPDNSRecording(file, mode: mode, options: options)
            var configuration = HTTPDNSClient.Configuration()
            // A server of the process itself, which is there only while it is recorded.
            if mode == .record {
                configuration.schemeHandlers = [
                    "shop": { _ in
                        HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array("[]".utf8)))
                    }
                ]
            }
            configuration.use(recording)
            let client = try await HTTPDNSClient(configuration: configuration)
            let response = try await client.get("shop://items?\(query)")
            #expect(try await response.body.decode([String].self).isEmpty)
            try recording.save()
            try await client.shutdown()
        }
    }
}
