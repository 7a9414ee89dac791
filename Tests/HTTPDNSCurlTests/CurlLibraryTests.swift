// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct CurlLibraryTests {
    private static let expected = getenv("HTTPDNS_TEST_LIBCURL").map { String(cString: $0) }

    /// `Scripts/libcurl8 run` sets it. Otherwise a run could pass with the libcurl of the system.
    @Test(
        "The process has loaded the libcurl that the environment names",
        .enabled(if: expected != nil, "HTTPDNS_TEST_LIBCURL is not set")
    )
    func version() {
        print("measured: libcurl \(CurlLibrary.version), \(TLSBackend.current?.description ?? "no TLS")")
        #expect(CurlLibrary.version == Self.expected)
    }

    @Test("The capabilities have what the client needs")
    func capabilities() throws {
        #expect(CurlLibrary.protocols.contains("http") && CurlLibrary.protocols.contains("https"))
        #expect(CurlLibrary.features.contains("HTTP2") && CurlLibrary.features.contains("SSL"))
        #expect(try #require(CurlLibrary.http2).hasPrefix("nghttp2/"))
        #expect(!CurlLibrary.resolver.isEmpty)
        #expect(try #require(TLSBackend.current).honorsAllOptions)
    }
}

struct TLSBackendTests {
    @Test(
        "The TLS library in use is the one that is not in parentheses",
        arguments: [
            ("OpenSSL/3.0.19", "OpenSSL/3.0.19", true), ("LibreSSL/3.8.2", "LibreSSL/3.8.2", true),
            ("BoringSSL", "BoringSSL", true), ("AWS-LC/1.30.0", "AWS-LC/1.30.0", true),
            ("quictls/3.1.4", "quictls/3.1.4", true), ("GnuTLS/3.7.9", "GnuTLS/3.7.9", false),
            ("(OpenSSL/3.0.19) GnuTLS/3.7.9", "GnuTLS/3.7.9", false),
            ("OpenSSL/3.0.19 (GnuTLS/3.7.9)", "OpenSSL/3.0.19", true),
            ("(GnuTLS/3.7.9) OpenSSL/3.0.19", "OpenSSL/3.0.19", true), ("mbedTLS/3.6.0", "mbedTLS/3.6.0", false),
            ("wolfSSL/5.7.0", "wolfSSL/5.7.0", false), ("rustls-ffi/0.13.0", "rustls-ffi/0.13.0", false),
        ]
    )
    func inUse(text: String, name: String, honorsAllOptions: Bool) throws {
        let backend = try #require(TLSBackend(text))
        #expect(backend.description == name && backend.honorsAllOptions == honorsAllOptions)
    }

    @Test("TLS is refused with a library that may ignore settings, which are named")
    func refused() throws {
        let gnutls = TLSBackend("GnuTLS/3.7.9")
        var settings = HTTPDNSTrust()
        #expect(TLSBackend.refusal(of: settings, with: gnutls) == nil)
        let plain = try #require(throws: TransferFailure.self) { try TLSBackend.check(settings, with: gnutls) }
        #expect(plain.code == .trustUnsupported && plain.message.contains("GnuTLS/3.7.9"))
        settings.minimumVersion = .tls13
        settings.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: "/nowhere/client.pem")
        settings.pins = [try HTTPDNSTrust.PublicKeyPin("sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=")]
        let failure = try #require(throws: TransferFailure.self) { try TLSBackend.check(settings, with: gnutls) }
        #expect(
            failure.message.hasSuffix("may ignore: public-key pins, the client certificate, TLS 1.3 as the minimum")
        )
        #expect(!failure.message.contains("/nowhere"))
        #expect(throws: Never.self) { try TLSBackend.check(settings, with: TLSBackend("OpenSSL/3.0.19")) }
    }

    @Test("A libcurl without TLS is refused for HTTPS", arguments: [nil, ""])
    func none(text: String?) throws {
        let failure = try #require(throws: TransferFailure.self) {
            try TLSBackend.check(HTTPDNSTrust(), with: TLSBackend(text))
        }
        #expect(failure.code == .trustUnsupported && failure.message.hasSuffix("has no TLS"))
    }
}
