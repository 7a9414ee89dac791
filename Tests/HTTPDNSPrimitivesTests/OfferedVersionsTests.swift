// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

/// RFC 9460 section 7.1.
struct OfferedVersionsTests {
    @Test(
        "A connection offers what both the record and the request allow",
        arguments: [
            (["h2", "http/1.1"], .automatic, .automatic), (["h2", "http/1.1"], .http1Only, .http1Only),
            (["h2", "http/1.1"], .http10Only, .http10Only), (["h2", "http/1.1"], .http2Only, .http2Only),
            (["http/1.1"], .automatic, .http1Only), (["http/1.1"], .http1Only, .http1Only),
            (["http/1.1"], .http10Only, .http10Only), (["http/1.1"], .http2Only, nil),
            (["h2"], .automatic, .http2Only), (["h2"], .http2Only, .http2Only), (["h2"], .http1Only, nil),
            (["h2"], .http10Only, nil), (["h3", "http/1.1"], .automatic, .http1Only),
            (["h3", "h2"], .automatic, .http2Only), (["h3"], .automatic, nil), ([], .automatic, nil),
        ] as [([String], HTTPDNSTransfer.AllowedVersions, HTTPDNSTransfer.AllowedVersions?)]
    )
    func intersection(
        protocols: [String],
        requested: HTTPDNSTransfer.AllowedVersions,
        expected: HTTPDNSTransfer.AllowedVersions?
    ) {
        let offered = OfferedVersions(applicationProtocols: protocols)
        #expect(offered.versions(for: requested) == expected)
        #expect(offered.isEmpty == (offered.versions(for: .automatic) == nil))
    }

    @Test("Of several records for one endpoint the first decides for several versions")
    func several() {
        var offered = OfferedVersions(applicationProtocols: ["http/1.1"])
        offered.add(.all)
        #expect(offered.versions(for: .automatic) == .http1Only)
        #expect(offered.versions(for: .http2Only) == .http2Only)
        #expect(offered != .all)
    }
}
