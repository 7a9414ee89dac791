// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

/// The system's roots, which nobody names: a process of its own, whose environment says where they are.
@Suite("The system's certificate authorities", .enabled(if: ServerRig.isAvailable([.nginx, .openssl])))
struct SystemRootsTests {
    /// A server that is not trusted is refused before a byte of the request.
    @Test(
        "A server is trusted only when its authority is among the system's",
        arguments: ["ca.pem", "other-ca.pem", nil]
    )
    func believed(authorities: String?) async throws {
        let rig = try await ServerRig.shared()
        let target = "/health?roots=\(authorities ?? "distribution")"
        let mark = rig.accessLogMark()
        let result = try await Command.resolveTest(
            ["fetch", "https://one.test:\(rig.tlsPort)\(target)", "--map", "one.test=127.0.0.2", "--json"],
            environment: ["SSL_CERT_FILE": authorities.map(rig.certificateFile) ?? ""]
        ).run()
        let isBelieved = authorities == "ca.pem"
        #expect(result.status == (isBelieved ? 0 : 60), "\(result)")
        #expect(isBelieved || (result.output + result.error).contains("certificate-refused"), "\(result)")
        // Nobody else asks for these.
        if isBelieved { try await rig.awaitAccessLog(since: mark) { $0.target == target } }
        #expect(try rig.accessLog(since: mark).count { $0.target == target } == (isBelieved ? 1 : 0))
    }
}
