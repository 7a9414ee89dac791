// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import ServerRig
import Testing

/// Credentials as the servers receive them.
struct CredentialOverTheWireTests {
    /// The body of the 401 never ends: its connection is free only when the client closes it.
    @Test("The closure of a token can use the client whose only connection had the 401")
    func oneConnection() async throws {
        let server = try RawServer { connection in
            guard connection == 0 else { return [.serve("t2")] }
            let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 100000\r\n\r\n"
            return [.readHead, .sendText(head + "no"), .hang]
        }
        let base = "http://127.0.0.1:\(server.port)"
        let shared = Lock<HTTPDNSClient?>(nil)
        let calls = Lock(0)
        var configuration = HTTPDNSClient.Configuration()
        // Without the close the call waits until its limit, however long that is.
        configuration.makePatient()
        configuration.connections.maximumPerHost = 1
        configuration.credentials = [
            try #require(HTTPDNSClient.Origin(base)): .bearer(minimumInterval: .zero) {
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                guard call > 1, let client = shared.withLock({ $0 }) else {
                    return HTTPDNSClient.Credential.Token("t1")
                }
                let response = try await client.get(base + "/token") { $0.credential = .off }
                return HTTPDNSClient.Credential.Token(try await response.text())
            }
        ]
        try await withClient(configuration) { client async throws in
            shared.withLock { $0 = client }
            defer { shared.withLock { $0 = nil } }
            let response = try await client.get(base + "/")
            #expect(response.exchanges.map(\.status.code) == [401, 200])
        }
        let heads = server.connections.map { $0.text.lowercased() }
        #expect(heads.count == 2 && heads[0].contains("bearer t1") && heads[1].contains("bearer t2"))
    }
}
