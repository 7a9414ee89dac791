// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Against nginx. Other codings: DecodingTests of the transport.
@Suite("Decompression bombs, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct BombTests {
    /// 1 GiB of zeros, over both versions of HTTP. A stream beside it goes on.
    @Test(
        "A gzip bomb of 1 GiB ends at the client's limit",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func bomb(versions: HTTPDNSClient.AllowedVersions) async throws {
        try await bomb(versions, limit: .mebibytes(1), atMost: 1 << 20)
    }

    @Test("With the client's defaults a bomb ends soon after 1 MiB, for its ratio")
    func ratio() async throws {
        // The ratio counts whole chunks of what was received, which have at most 64 KiB.
        try await bomb(.automatic, limit: nil, atMost: 200 * (64 << 10) + (1 << 20))
    }

    private func bomb(_ versions: HTTPDNSClient.AllowedVersions, limit: HTTPDNSByteCount?, atMost: Int)
        async throws
    {
        let rig = try await ServerRig.shared()
        let path = rig.storedFile("zeros-\(versions).gz".lowercased())
        defer { try? FileManager.default.removeItem(atPath: path) }
        let made = try await Command("bash", ["-c", "head -c 1G /dev/zero | gzip -9 >\"$1\"", "bash", path])
            .run(within: .seconds(120))
        #expect(made.status == 0, "\(made)")
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        configuration.maximumResponseBody = limit
        configuration.versions = versions
        try await withClient(configuration) { client in
            let origin = "https://one.test:\(rig.tlsPort)"
            let beside = try await client.get("\(origin)/stall-body/0.5")
            let response = try await client.get("\(origin)/coded/gzip/zeros-\(versions).gz".lowercased())
            #expect(response.version == (versions == .http1Only ? .http11 : .http2))
            #expect(response.headerFields[.contentEncoding] == "gzip")
            let count = Lock(0)
            let error = try await refusal {
                for try await chunk in response.body { count.withLock { $0 += chunk.count } }
            }
            #expect(error.code == .responseTooLarge && error.host == "one.test", "\(error)")
            #expect(count.withLock { $0 } <= atMost)
            try await beside.text()
            #expect(try await client.get("\(origin)/health").status == .ok)
        }
    }
}
