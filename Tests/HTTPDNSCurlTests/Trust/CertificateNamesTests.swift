// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

struct CertificateNamesTests {
    @Test(
        "Names and addresses are read from the printed extension",
        arguments: [
            ("DNS:one.test", ["one.test"]), ("DNS:*.one.test, DNS:one.test", ["*.one.test", "one.test"]),
            ("DNS:one.test, IP Address:127.0.0.2", ["one.test", "127.0.0.2"]),
            ("IP Address:2001:DB8:0:0:0:0:0:1", ["2001:DB8:0:0:0:0:0:1"]), ("<EMPTY>", []), ("", []),
        ]
    )
    func names(text: String, expected: [String]) {
        #expect(CertificateNames.names(in: text) == expected)
    }
}
