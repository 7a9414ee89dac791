// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && CommandLine
import ServerRig
import Testing

@Suite(
    "Forged answers of a name server",
    .enabled(if: ServerRig.isAvailable([.compiler]) && Command.find("/usr/bin/python3") != nil),
    .enabled("needs a user and a network namespace with interfaces") {
        let script = "ip link add out type veth peer name in && setpriv --pdeathsig KILL true"
        return (try? await Command("unshare", ["-Urn", "sh", "-c", script]).run())?.status == 0
    }
)
struct SpoofingTests {
    /// The script fails as well when the forger cannot poison a weak resolver.
    @Test("Answers of a forger who does not see the queries are not used", .timeLimit(.minutes(30)))
    func forged() async throws {
        let script = Repository.path("Tests/Spoofing/try-spoofing.py")
        let seconds = ServerRig.hasTime ? "600" : "10"
        // The flood keeps a processor busy, which other tests need.
        let command = Command(
            "nice",
            ["-n", "10", "/usr/bin/python3", script, "--for", seconds, try BuiltProduct.path("resolve-test")]
        )
        let result = try await command.run(within: .seconds(1_500))
        #expect(result.status == 0, "\(result.output)\(result.error)")
    }
}
#endif
