// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

#if Digest
/// SHA-256 and `auth-int` at httpbin.
@Suite("Credentials at httpbin", .enabled(if: ServerRig.isAvailable([.httpbin])))
struct HTTPBinTests {
    @Test("Digest with MD5 and SHA-256, auth and auth-int is accepted with any body")
    func digest() async throws {
        let httpbin = try await HTTPBinServer()
        var configuration = HTTPDNSClient.Configuration()
        configuration.adaptToTests()
        let base = "http://127.0.0.1:\(httpbin.port)"
        let origin = try #require(HTTPDNSClient.Origin(base))
        configuration.credentials = [origin: .digest(user: "me", password: HTTPDNSSecret { "pw" })]
        for algorithm in ["MD5", "SHA-256"] {
            for protection in ["auth", "auth-int"] {
                try await withClient(configuration) { client async throws in
                    for body in [HTTPDNSClient.Request.Body.none, .bytes(Array("hello".utf8))] {
                        let url = "\(base)/digest-auth/\(protection)/me/pw/\(algorithm)"
                        let request = HTTPDNSClient.Request(url: url, body: body)
                        let response = try await client.execute(request)
                        #expect(try await response.text().contains("\"authenticated\""), "\(url)")
                        #expect(response.status == .ok)
                    }
                    let refused = try await client.get("\(base)/digest-auth/\(protection)/me/other/\(algorithm)")
                    #expect(refused.status == .unauthorized)
                }
            }
        }
    }
}
#endif
