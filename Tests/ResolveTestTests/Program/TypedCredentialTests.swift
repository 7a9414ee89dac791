// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNSPrimitives
import ServerRig
import Testing

struct TypedCredentialTests {
    /// A server that redirects from one host to the next by its connections, and gets what was sent to all of them.
    private func server(_ hosts: String...) throws -> RawServer {
        let port = Lock<UInt16>(0)
        let server = try RawServer { connection in
            guard connection < hosts.count else { return [.readHead, .respond("ok")] }
            let place = "http://\(hosts[connection]):\(port.withLock { $0 })/\(connection)"
            return [.readHead, .respond(status: "302 Found", fields: "Location: \(place)\r\nConnection: close\r\n")]
        }
        port.withLock { $0 = server.port }
        return server
    }

    /// Fetches from one.test, with a file that has a credential for an origin.
    private func fetch(_ server: RawServer, _ login: [String], _ user: String, fileHost: String) async throws
        -> CommandResult
    {
        let folder = try TemporaryFolder()
        try folder.write("canary", to: "secret")
        chmod(folder.path("secret"), 0o600)
        try folder.write(
            """
            version: 1
            mappings: { one.test: 127.0.0.1, two.test: 127.0.0.1 }
            client:
              credentials:
                - { origin: "http://\(fileHost):\(server.port)", scheme: basic, user: me, preemptive: true,
                    password: { file: secret } }

            """,
            to: "f.yaml"
        )
        let url = "http://\(user)one.test:\(server.port)/a"
        return try await Program.run(["fetch", "-L", url, "--config", folder.path("f.yaml")] + login)
    }

    @Test(
        "A file's credential for another origin is not sent over http after a redirect",
        arguments: [(["--digest", "-u", "me:typed"], ""), ([], "me:typed@")] as [([String], String)]
    )
    func otherOrigin(login: [String], user: String) async throws {
        let server = try server("two.test")
        let result = try await fetch(server, login, user, fileHost: "two.test")
        #expect(result.status == 94 && result.error.contains("send a credential to http://two.test"), "\(result)")
        #expect(server.connections.count == 1 && server.count(of: "Authorization: Basic") == (user.isEmpty ? 0 : 1))
    }

    @Test("A file's credential for the typed origin is not sent over http on the way back")
    func typedOrigin() async throws {
        let server = try server("two.test", "one.test")
        let result = try await fetch(server, [], "me:typed@", fileHost: "one.test")
        #expect(result.status == 94 && result.error.contains("send a credential to http://one.test"), "\(result)")
        #expect(server.connections.count == 2 && server.count(of: "Authorization: Basic") == 1)
    }

    @Test("The typed login is sent over http again after a redirect within its origin")
    func sameOrigin() async throws {
        let server = try server("one.test")
        let result = try await fetch(server, [], "me:typed@", fileHost: "two.test")
        #expect(result.status == 0 && server.count(of: "Authorization: Basic") == 2, "\(result)")
    }
}
#endif
