// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Glibc
import ServerRig
import Testing

@Suite(.enabled(if: ServerRig.isAvailable([.nginx, .bind, .witnesses])))
struct ServerRigTests {
    /// curl as a witness that is not ours.
    private func curl(_ rig: ServerRig, _ host: String, at address: String, _ path: String, _ more: String...)
        async throws -> CommandResult
    {
        let port = rig.tlsPort
        let common = [
            "-sS", "--cacert", rig.certificateAuthorityFile, "--connect-to", "\(host):\(port):\(address):\(port)",
        ]
        return try await Command("curl", common + more + ["https://\(host):\(port)\(path)"]).run()
    }

    @Test("An origin logs address, server name, Host and connection")
    func accessLog() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let result = try await curl(
            rig,
            "img.shop.test",
            at: "127.0.0.3",
            "/a.jpg?log",
            "-o",
            "/dev/null",
            "-w",
            "%{size_download}"
        )
        #expect(result.status == 0 && result.output == "1024", "\(result)")
        let line = try #require(
            try await rig.awaitAccessLog(since: mark) { $0.target == "/a.jpg?log" }.first
        )
        #expect(line.address == "127.0.0.3" && line.port == rig.tlsPort)
        #expect(line.sni == "img.shop.test" && line.host == "img.shop.test:\(rig.tlsPort)")
        #expect(line.protocol == "HTTP/2.0" && line.method == "GET" && line.status == 200)
        #expect(line.bodySent == 1024 && line.requestOnConnection == 1 && line.tls == "TLSv1.3")
    }

    @Test(
        "A certificate that must be refused is refused",
        arguments: [
            ("img.shop.test", "127.0.0.5", Int32(60)), ("expired.test", "127.0.0.2", 60),
            ("wrong.test", "127.0.0.2", 60),
            ("selfsigned.test", "127.0.0.2", 60), ("untrusted.test", "127.0.0.2", 60),
            // No such name here: the handshake itself fails.
            ("nobody.test", "127.0.0.2", 35),
        ]
    )
    func certificates(host: String, address: String, status: Int32) async throws {
        let result = try await curl(ServerRig.shared(), host, at: address, "/refused-\(host)")
        #expect(result.status == status, "\(result)")
        let lines = try await ServerRig.shared().accessLog()
        #expect(!lines.contains { $0.target == "/refused-\(host)" })
    }

    @Test(
        "A handshake without a server name, or at another server, is logged",
        arguments: ["127.0.0.2", "127.0.0.5"]
    )
    func handshakeLog(address: String) async throws {
        let rig = try await ServerRig.shared()
        let url = "https://\(address):\(rig.tlsPort)/health"
        let result = try await Command("curl", ["-sS", "--cacert", rig.certificateAuthorityFile, url]).run()
        #expect(result.status == 60, "\(result)")
        #expect(try rig.originErrorLog().contains("handshake addr=\(address) sni=(none)"))
    }

    @Test("A name of the other authority is accepted with that authority only")
    func otherAuthority() async throws {
        let rig = try await ServerRig.shared()
        let result = try await curl(
            rig,
            "untrusted.test",
            at: "127.0.0.2",
            "/health",
            "--cacert",
            rig.otherCertificateAuthorityFile
        )
        #expect(result.status == 0 && result.output == "127.0.0.2\n", "\(result)")
    }

    @Test("BIND answers over HTTPS, logs the question, and takes changes")
    func provider() async throws {
        let rig = try await ServerRig.shared()
        func answer() async throws -> [Substring] {
            let options = [
                "@127.0.0.1", "-p", "\(rig.dohPort)", "+https", "+tls-ca=\(rig.certificateAuthorityFile)",
                "+tls-hostname=doh.test", "+short", "rig-moves.wild.test",
            ]
            return try await Command("dig", options).run().output.split(separator: "\n")
        }
        let mark = rig.bindLogMark()
        #expect(try await answer() == ["127.0.0.4"])
        try await rig.awaitBindLog(contains: "query: rig-moves.wild.test IN A", since: mark)
        try await rig.setRecords("rig-moves.wild.test", ["127.0.0.2", "127.0.0.3"])
        #expect(try await Set(answer()) == ["127.0.0.2", "127.0.0.3"])
        #expect(try rig.queryCount(of: "rig-moves.wild.test", since: mark) == 2)
        try await rig.removeRecords("rig-moves.wild.test")
        #expect(try await answer() == ["127.0.0.4"])
    }

    @Test("HTTP/1.1 has a port of its own, and clear text another")
    func ports() async throws {
        let rig = try await ServerRig.shared()
        let address = "one.test:\(rig.http1Port):127.0.0.2:\(rig.http1Port)"
        let first = try await Command(
            "curl",
            [
                "-sS", "--cacert", rig.certificateAuthorityFile, "--connect-to", address, "-w", "%{http_version}",
                "-o", "/dev/null", "https://one.test:\(rig.http1Port)/health",
            ]
        ).run()
        #expect(first.output == "1.1", "\(first)")
        let second = try await Command("curl", ["-sS", "http://127.0.0.5:\(rig.httpPort)/health"]).run()
        #expect(second.output == "127.0.0.5\n", "\(second)")
    }

    @Test("A separate rig can be paused, and leaves no process and no folder")
    func lifetime() async throws {
        let rig = try await ServerRig.start()
        #expect(access(rig.folder, F_OK) == 0)
        rig.holdOrigins()
        let held = try await Command("curl", ["-sS", "-m", "0.3", "http://127.0.0.2:\(rig.httpPort)/health"]).run()
        #expect(held.status == 28, "\(held)")
        rig.resumeOrigins()
        let resumed = try await Command("curl", ["-sS", "http://127.0.0.2:\(rig.httpPort)/health"]).run()
        #expect(resumed.output == "127.0.0.2\n", "\(resumed)")
        // Held to the end: stopping must work all the same.
        rig.holdBind()
        try await rig.stop()
        #expect(access(rig.folder, F_OK) == -1)
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { process in
            guard let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return false }
            return String(decoding: line, as: UTF8.self).contains(rig.folder)
        }
        #expect(processes.isEmpty)
        try await rig.stop()
    }

    @Test("The servers end when the process that started them is killed")
    func parentDeath() async throws {
        let folder = "/tmp/httpdns-orphan.\(UInt64.random(in: 0...UInt64.max))"
        // The shell in the middle holds the only writing end; killed hard, it can clean up nothing itself.
        let middle = """
            exec 3> >(exec "$0" "$1" --watch-stdin)
            until [ -f "$1/ready.json" ]; do sleep 0.02; done
            cat "$1/ready.json"; kill -KILL $$
            """
        let result = try await Command("bash", ["-c", middle, Repository.path("Scripts/servers/start"), folder]).run()
        #expect(result.status == 137, "\(result)")
        let ready = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        for name in ["nginxProcess", "bindProcess"] {
            let process = try #require(ready[name] as? Int32)
            let deadline = ContinuousClock.now + .seconds(60)
            while kill(process, 0) == 0, !isZombie(process), ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(kill(process, 0) != 0 || isZombie(process), "\(name) \(process) is still there")
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Its line of ports is what a reader of the documentation works with.
    @Test("Servers that are started by hand print their ports")
    func startedByHand() async throws {
        let folder = try TemporaryFolder()
        let script = """
            "$0" "$1/servers" --parts bind >"$1/output" & servers=$!
            until grep -q '^ready: ' "$1/output"; do kill -0 $servers || exit 1; sleep 0.05; done
            cat "$1/output"; grep -o '"dohPort": [0-9]*' "$1/servers/ready.json"
            kill $servers; wait $servers
            """
        let start = Repository.path("Scripts/servers/start")
        let result = try await Command("bash", ["-c", script, start, folder.path]).run()
        #expect(result.status == 0, "\(result)")
        let lines = result.output.split(separator: "\n")
        try #require(lines.count == 3, "\(result)")
        let port = lines[2].drop { !$0.isNumber }
        #expect(lines[0].hasPrefix("BIND: https://127.0.0.1:\(port)/dns-query, dns port "), "\(result)")
        #expect(lines[1].hasPrefix("ready: \(folder.path)/servers/ready.json has the ports"), "\(result)")
    }

    @Test(
        "Unknown parts and options of the servers are refused by name",
        arguments: [
            ("--parts ngnix", "start: --parts ngnix: the parts are nginx and bind\n"),
            ("--port 1", "start: unknown option --port\n"),
        ]
    )
    func unknownWord(arguments: String, message: String) async throws {
        let folder = try TemporaryFolder()
        // Servers that start all the same end with the input, which is empty.
        let words = ["\(folder.path)/servers", "--watch-stdin"] + arguments.split(separator: " ").map(String.init)
        let result = try await Command(Repository.path("Scripts/servers/start"), words).run()
        #expect(result.status == 2 && result.output.isEmpty && result.error == message, "\(result)")
    }

    private func isZombie(_ process: Int32) -> Bool {
        let status = FileManager.default.contents(atPath: "/proc/\(process)/stat") ?? Data()
        return String(decoding: status, as: UTF8.self).contains(") Z ")
    }
}
