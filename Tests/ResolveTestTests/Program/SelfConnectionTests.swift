// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

/// Requests for a closed port in a network namespace whose only local port is that one. The kernel connects each socket
/// with itself.
@Suite(
    "Sockets that are connected with themselves",
    .enabled("needs a network namespace") { (try? await runInNamespace("true"))?.status == 0 }
)
struct SelfConnectionTests {
    /// A connection in TIME-WAIT would keep the only port, and the second request would get none.
    @Test("A request whose socket is connected with itself is refused, and frees the port")
    func refused() async throws {
        let result = try await runInNamespace(
            """
            for number in 1 2; do
                "$0" fetch -m 20 http://one.test:40000/ --map one.test=127.0.0.1
                echo "exit $?" >&2
            done
            """
        )
        let errors = result.error.split(separator: "exit 7\n")
        #expect(errors.count == 2 && result.output.isEmpty, "\(result)")
        #expect(errors.allSatisfy { $0.contains("the connection led back to itself") }, "\(result)")
    }
}

/// Runs a script of sh in a new network namespace. Its `$0` is the program.
private func runInNamespace(_ script: String) async throws -> CommandResult {
    let setUp = """
        ip link set lo up && cd /proc/sys/net/ipv4 || exit 99
        echo "40000 40000" >ip_local_port_range && echo 0 >tcp_tw_reuse || exit 99

        """
    let namespace = geteuid() == 0 ? ["--net"] : ["--map-root-user", "--net"]
    return try await Command(
        "unshare",
        namespace + ["sh", "-c", setUp + script, Program.path],
        environment: Program.command([]).environment
    ).run()
}
#endif
