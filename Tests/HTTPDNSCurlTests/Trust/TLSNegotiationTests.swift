// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct TLSNegotiationTests {
    typealias Code = HTTPDNSTrust.Error.Code

    @Test(
        "Names of suites and curves are checked, and an error says what is allowed",
        arguments: [
            (.ciphers, ["ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"], nil, ""),
            (.ciphers, ["ECDHE-RSA-AES128-GCM-SHA"], .cipher, "openssl ciphers -s -tls1_2"),
            (.ciphers, ["ecdhe-rsa-aes128-gcm-sha256"], .cipher, "is not a cipher suite of TLS 1.2"),
            (.ciphers, ["HIGH"], .cipher, "is not"), (.ciphers, ["!aNULL"], .cipher, "is not"),
            (.ciphers, ["AES128-SHA:AES256-SHA"], .cipher, "is not"), (.ciphers, [""], .cipher, "\"\" is not"),
            (.ciphers, ["NULL-SHA256"], .cipher, "is not"),
            (.ciphers, ["TLS_AES_128_GCM_SHA256"], .cipher, "is a cipher suite of TLS 1.3, and not of TLS 1.2"),
            (.ciphers, ["AES128-SHA", "AES128-SHA"], .cipher, "AES128-SHA is listed twice"),
            (.ciphersTLS13, ["TLS_AES_128_CCM_8_SHA256", "TLS_CHACHA20_POLY1305_SHA256"], nil, ""),
            (.ciphersTLS13, ["TLS_AES_128_GCM"], .cipher, "TLS_AES_256_GCM_SHA384"),
            (.ciphersTLS13, ["AES128-SHA"], .cipher, "is a cipher suite of TLS 1.2, and not of TLS 1.3"),
            (.curves, ["X25519", "P-256", "secp384r1", "P-521", "X448", "X25519MLKEM768"], nil, ""),
            (.curves, ["x25519"], .curve, "X25519"), (.curves, ["P-256", "prime256v1"], .curve, "listed twice"),
            (.curves, ["ffdhe2048"], .curve, "is not a curve"), (.curves, ["a\r\nb"], .curve, "is not a curve"),
        ] as [(HTTPDNSTrust.NameList, [String], Code?, String)]
    )
    func names(list: HTTPDNSTrust.NameList, names: [String], code: Code?, text: String) {
        var settings = HTTPDNSTrust()
        switch list {
        case .ciphers: settings.ciphers = names
        case .ciphersTLS13: settings.ciphersTLS13 = names
        case .curves: settings.curves = names
        }
        #expect(settings.needsTest)
        guard let code else {
            #expect(throws: Never.self) { try settings.checkNegotiation() }
            return
        }
        let error = #expect(throws: HTTPDNSTrust.Error.self) { try settings.checkNegotiation() }
        #expect(error?.code == code && error?.message.contains(text) == true, "\(error?.message ?? "none")")
        #expect(error?.message.contains { $0.isNewline } == false)
    }

    @Test("The newest version of TLS must not be older than the oldest")
    func order() {
        var settings = HTTPDNSTrust()
        settings.maximumVersion = .tls12
        #expect(throws: Never.self) { try settings.checkNegotiation() }
        settings.minimumVersion = .tls13
        let error = #expect(throws: HTTPDNSTrust.Error.self) { try settings.checkNegotiation() }
        #expect(error?.code == .tlsVersions && error?.message.contains("1.3") == true)
    }

    /// libcurl's numbers: 6 is TLS 1.2, 7 is TLS 1.3, and the maximum is 65,536 times as large.
    @Test(
        "The libcurl option has the oldest version and, if limited, the newest",
        arguments: [(.tls12, .tls13, 6), (.tls13, .tls13, 7), (.tls12, .tls12, 6 * 65_536 + 6)]
            as [(HTTPDNSTrust.TLSVersion, HTTPDNSTrust.TLSVersion, Int)]
    )
    func option(minimum: HTTPDNSTrust.TLSVersion, maximum: HTTPDNSTrust.TLSVersion, value: Int) {
        var settings = HTTPDNSTrust()
        (settings.minimumVersion, settings.maximumVersion) = (minimum, maximum)
        #expect(settings.versionOption == value)
    }

    /// Names that no TLS library has, as a name of a later OpenSSL is for an older one.
    @Test("Suites and curves that the TLS library lacks are found before any request", arguments: [0, 1, 2])
    func refusedByLibrary(number: Int) throws {
        var settings = HTTPDNSTrust()
        settings.verification = .insecurelyAcceptingAnyCertificate
        let material = try TrustMaterial(settings)
        #expect(throws: Never.self) { try TrustMaterialCheck.run(material) }
        let lists: [WritableKeyPath<HTTPDNSTrust, [String]>] = [\.ciphers, \.ciphersTLS13, \.curves]
        settings[keyPath: lists[number]] = ["NO-SUCH-NAME"]
        let refused = try TrustMaterial(settings)
        let failure = #expect(throws: TransferFailure.self) { try TrustMaterialCheck.run(refused) }
        #expect(failure?.code == .tlsSettingsRefused && failure?.message.contains("NO-SUCH-NAME") == true)
    }
}
