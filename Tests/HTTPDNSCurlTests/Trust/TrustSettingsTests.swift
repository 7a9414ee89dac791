// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct TrustSettingsTests {
    private let first = try! HTTPDNSTrust.PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    private let second = try! HTTPDNSTrust.PublicKeyPin("sha256//BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    private let third = try! HTTPDNSTrust.PublicKeyPin("sha256//CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")

    /// The order is exact name, longest suffix, all hosts. A suffix is not its own name.
    @Test("A host's pins are those of the exact name, the longest suffix, or all hosts")
    func precedence() throws {
        var settings = HTTPDNSTrust()
        #expect(settings.pins(for: "a.example").isEmpty && !settings.hasPins)
        settings.pins = [first]
        try settings.pin("*.Shop.example", to: [second])
        try settings.pin("*.a.shop.example", to: [first, second])
        try settings.pin("img.shop.example", to: [third])
        #expect(settings.pins(for: "img.shop.example") == [third])
        #expect(settings.pins(for: "x.img.shop.example") == [second])
        #expect(settings.pins(for: "b.a.shop.example") == [first, second])
        #expect(settings.pins(for: "a.shop.example") == [second])
        #expect(settings.pins(for: "shop.example") == [first])
        #expect(settings.pins(for: "203.0.113.7") == [first])
    }

    @Test(
        "An invalid name and a host without a pin are refused",
        arguments: ["", "*", "*.", "a.*.b", "a..b", ".a", "a:443", "https://a", "bücher.example", "a b"]
    )
    func patterns(pattern: String) {
        var settings = HTTPDNSTrust()
        #expect(throws: HTTPDNSTrust.Error.self) { try settings.pin(pattern, to: [first]) }
        #expect(throws: HTTPDNSTrust.Error.self) { try settings.pin("a.example", to: []) }
        #expect(settings == HTTPDNSTrust())
    }

    @Test("Settings that differ in anything differ, and a description has paths alone")
    func equality() throws {
        let changes: [(inout HTTPDNSTrust) throws -> Void] = [
            { $0.roots = .file("/ca.pem") }, { $0.pins = [first] }, { $0.pins = [first, second] },
            { try $0.pin("a.example", to: [first]) }, { $0.minimumVersion = .tls13 },
            { $0.maximumVersion = .tls12 }, { $0.ciphers = ["AES128-SHA"] },
            { $0.ciphers = ["AES128-SHA", "AES256-SHA"] },
            { $0.ciphers = ["AES256-SHA", "AES128-SHA"] }, { $0.ciphersTLS13 = ["TLS_AES_128_GCM_SHA256"] },
            { $0.curves = ["X25519"] },
            { $0.verification = .insecurelyAcceptingAnyCertificate },
            { $0.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: "/a.pem") },
            { $0.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: "/a.pem", keyFile: "/a.key") },
            {
                $0.clientCertificate = HTTPDNSTrust.ClientCertificate(
                    certificateFile: "/a.pem",
                    keyFile: "/a.key",
                    keyPassword: .environment("NAME")
                )
            },
        ]
        var all: Set<HTTPDNSTrust> = [HTTPDNSTrust()]
        for change in changes {
            var settings = HTTPDNSTrust()
            try change(&settings)
            #expect(all.insert(settings).inserted)
            var same = HTTPDNSTrust()
            try change(&same)
            #expect(settings == same)
        }
        var settings = HTTPDNSTrust()
        try changes.last?(&settings)
        #expect(
            settings.description == "roots system; TLS 1.2 or newer; certificate /a.pem, key /a.key, password in the "
                + "environment variable NAME"
        )
        settings = HTTPDNSTrust()
        settings.maximumVersion = .tls12
        (settings.ciphers, settings.curves) = (["AES128-SHA", "AES256-SHA"], ["X25519"])
        #expect(
            settings.description
                == "roots system; TLS 1.2 to 1.2; TLS 1.2 ciphers AES128-SHA:AES256-SHA; curves X25519"
        )
    }
}
