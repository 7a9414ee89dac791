// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

@Suite("Recordings of nginx", .enabled(if: ServerRig.isAvailable([.nginx])))
struct RecordingOverTheWireTests {
    private static let targets = [
        "/health", "/echo?a=1", "/bytes?count=40000", "/trailer", "/status/503", "/empty", "/hops/2", "/gzip/text.txt",
        "/cookie/set", "/health",
    ]

    /// A rig of its own, which is stopped before the play back.
    @Test("Responses of nginx are played back without it: status, fields and body")
    func playedBack() async throws {
        let rig = try await ServerRig.start()
        let port = rig.tlsPort
        let authority = rig.certificateAuthorityFile
        let file = try TemporaryFolder()
        let path = file.path("nginx.har")

        func responses(_ mode: HTTPDNSRecording.Mode) async throws -> [[String]] {
            // nginx returns the credential of the request in a body.
            var options = HTTPDNSRecording.Options()
            options.redaction = .off
            let recording = try HTTPDNSRecording(path, mode: mode, options: options)
            var configuration = HTTPDNSClient.Configuration()
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.2:\(port)"])]
            // The rig takes its files with it.
            if mode == .record { configuration.trust.roots = .file(authority) }
            configuration.use(recording)
            let client = try await HTTPDNSClient(configuration: configuration)
            var texts: [[String]] = []
            for target in Self.targets {
                let response = try await client.get(
                    "https://one.test:\(port)\(target)",
                    headerFields: [.authorization: "Bearer canary-1"]
                )
                // Cookies are not in the file.
                let fields = response.headerFields.filter { $0.name != .setCookie }
                    .map { "\($0.name.rawName): \($0.value)" }
                let body = try await response.body.collect(upTo: .mebibytes(1))
                texts.append(["\(response.status)", "\(response.version)", "\(body)"] + fields)
            }
            try recording.save()
            try await client.shutdown()
            return texts
        }

        let recorded = try await responses(.record)
        try await rig.stop()
        #expect(try await responses(.playBack) == recorded)
        #expect(recorded[0][1] == "HTTP/2" && recorded[4][0].hasPrefix("503"))

        let text = try #require(file.read("nginx.har"))
        for name in ["authorization", "set-cookie"] { #expect(!text.lowercased().contains("\"name\" : \"\(name)\"")) }
        let archive = try JSONDecoder().decode(HTTPArchive.self, from: Data(text.utf8))
        #expect(archive.log.entries.count == Self.targets.count + 2)
        #expect(archive.log.entries[0].serverIPAddress == "127.0.0.2")
        #expect(archive.log.entries[0].timings.ssl ?? -1 > 0 && archive.log.entries[0].timings.wait > 0)
        // A kept connection has no time of its own.
        #expect(archive.log.entries[1].timings.ssl == -1)
    }
}
