// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

struct OptionResultsTests {
    @Test("The first refused option is named, once; a libcurl without HTTP/2 is used")
    func first() throws {
        let curl = try #require(curl_easy_init())
        defer { curl_easy_cleanup(curl) }
        var options = EasyOptions(curl)
        options.note(CURLE_OK, CURLOPT_PROXY)
        options.note(CURLE_UNSUPPORTED_PROTOCOL, CURLOPT_HTTP_VERSION)
        try options.check()
        options.note(CURLE_NOT_BUILT_IN, CURLOPT_SSLCERT_BLOB)
        options.note(CURLE_UNKNOWN_OPTION, CURLOPT_PREREQFUNCTION)
        let failure = #expect(throws: TransferFailure.self) { try options.check() }
        #expect(failure?.code == .transport && failure?.curlCode == Int32(CURLE_NOT_BUILT_IN.rawValue))
        #expect(failure?.message.contains("CURLOPT_SSLCERT_BLOB") == true, "\(failure as Any)")
        try options.check()
    }

    // A text of more than 8,000,000 bytes is refused by every libcurl (CURL_MAX_INPUT_LENGTH).
    @Test("A server is not asked when libcurl refuses its key pins", .enabled(if: ServerRig.isAvailable([.nginx])))
    func pins() async throws {
        let rig = try await ServerRig.shared()
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let pin = try HTTPDNSTrust.PublicKeyPin("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        try configuration.trust.pin("one.test", to: Array(repeating: pin, count: 160_000))
        let fixture = TransportFixture(Transport(configuration))
        let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)/health", at: "127.0.0.2")
        for _ in 0..<2 {
            let failure = try #require(await fixture.failure(of: request))
            #expect(failure.message.contains("CURLOPT_PINNEDPUBLICKEY") && failure.phase == .queue, "\(failure)")
            #expect(!failure.requestMayHaveBeenSent)
        }
        let other = try TransportFixture.request("https://two.test:\(rig.tlsPort)/health", at: "127.0.0.2")
        #expect(try await fixture.fetch(other).response.head.status == 200)
        await fixture.transport.shutdown()
    }
}
