// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct PublicKeyPinTests {
    private static let digest = "YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="

    @Test("A pin has one spelling, with or without the algorithm in front", arguments: ["", "sha256//"])
    func spelling(prefix: String) throws {
        #expect(try HTTPDNSTrust.PublicKeyPin(prefix + Self.digest).description == "sha256//\(Self.digest)")
    }

    @Test(
        "A pin that is no SHA-256 in base64 is refused, with what is allowed",
        arguments: [
            "", "sha256//", "sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE", "sha1//\(digest)",
            "sha256/\(digest)",
            "sha256//\(digest);sha256//\(digest)", "sha256//Yh-JKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=",
            " sha256//\(digest)", "sha256//\(digest)\n", "/etc/pin.pem",
            // The last character's low bits are not 0: a second spelling of the same key.
            "sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwF=",
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: HTTPDNSTrust.Error.self) { try HTTPDNSTrust.PublicKeyPin(text) }
        #expect(error?.code == .publicKeyPin)
        #expect(error?.message.contains("sha256// and 32 bytes in base64") == true)
    }
}
