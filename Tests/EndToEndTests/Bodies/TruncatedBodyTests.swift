// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// nginx sends the beginning of a coded body as a whole body, so that only the decoder can notice.
@Suite("Truncated bodies, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct TruncatedBodyTests {
    @Test(
        "A coded body is whole or an error, over both versions of HTTP",
        arguments: ["gzip", "deflate", "br", "zstd", "gzip,br", "zstd,deflate"],
        [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func truncated(codings: String, versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let text = ContentEncoder.text(4096)
        let body = try ContentEncoder.encoded(text, codings)
        let isHTTP1 = versions == .http1Only
        let name = "truncated-\(codings.replacing(",", with: "-"))-\(isHTTP1 ? 1 : 2)"
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        configuration.versions = versions
        let path = rig.storedFile(name)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await withClient(configuration) { client in
            let url = "https://one.test:\(rig.tlsPort)/coded/\(codings)/\(name)"
            for count in [1, 2, 8, 100, body.count / 2, body.count - 5, body.count - 1] {
                try Data(body.prefix(count)).write(to: URL(filePath: path))
                let response = try await client.get(url)
                #expect(
                    response.version == (isHTTP1 ? .http11 : .http2)
                        && response.headerFields[.contentEncoding] == codings
                )
                let error = try await refusal { _ = try await response.body.collect(upTo: .mebibytes(1)) }
                #expect(error.code == .decodingFailed && error.host == "one.test", "\(count): \(error)")
                #expect(error.attempts.count == 1 && error.requestMayHaveBeenSent && error.hint != nil)
            }
            try Data(body).write(to: URL(filePath: path))
            let response = try await client.get(url)
            #expect(try await response.body.collect(upTo: .bytes(text.count)) == text)
            #expect(response.body.summary?.bodyBytes == text.count && response.body.summary?.wireBytes == body.count)
            let tooLong = try await refusal {
                _ = try await client.get(url).body.collect(upTo: .bytes(text.count - 1))
            }
            #expect(tooLong.code == .responseTooLarge)
        }
    }
}
