// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import ServerRig
import Testing

/// Foundation on Linux has no setting for authorities: the program runs in a mount namespace of its own, whose bundle is the rig's.
@Suite(
    "URLSession through the proxy",
    .enabled(if: BindMount.isPossible, "only root may mount"),
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct URLSessionTests {
    @Test("Each kind of task of an unchanged URLSession reaches the mapped address")
    func tasks() async throws {
        let rig = try await ServerRig.shared()
        let probe = try BuiltProduct.path("httpdns-session-probe")
        let script =
            "mount --bind '\(rig.certificateAuthorityFile)' /etc/ssl/certs/ca-certificates.crt && exec \"$0\" \"$@\""
        let arguments = [
            "one.test=127.0.0.4:\(rig.tlsPort)", "--", "https://one.test", "/stored/session",
        ]
        let command = Command("unshare", ["-m", "sh", "-c", script, probe] + arguments)
        let result = try await command.run()
        #expect(
            result.output.split(separator: "\n") == [
                "data 200 127.0.0.4", "upload 201", "download 200 1048576", "delegate 200 127.0.0.4",
                "redirect 200 127.0.0.4",
                // NSURLErrorUnknown, not cannotFindHost: libcurl says no more about a proxy's refusal.
                "unknown error -1", "tunnels true",
            ],
            "\(result.error)"
        )
    }

    @Test("Nothing is installed over a proxy of the environment, and the error says how")
    func alreadySet() async throws {
        let probe = try BuiltProduct.path("httpdns-session-probe")
        var command = Command(probe, ["--", "https://one.test", "/"])
        command.environment = ["https_proxy": "http://proxy.test:3128"]
        let result = try await command.run()
        #expect(result.status != 0 && result.error.contains("https_proxy is set"), "\(result.error)")
    }
}
#endif
