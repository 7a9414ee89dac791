// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

#if YAML && CommandLine
@Suite("Answers of a name server", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct NameServerTests {
    private func settings(_ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        let file = """
            version: 1
            providers:
              office: { kind: dns, servers: "127.0.0.1:\(rig.dnsPort)", answer_scope: loopback }
            routes: { "*": { providers: [office], fallback: none } }
            """
        var settings = try HTTPDNSConfigurationFile.parse(file, name: "dns.yaml")
        settings.trustRoots = .file(rig.certificateAuthorityFile)
        settings.adaptToTests()
        return settings
    }

    @Test(
        "A request goes where the name server says, and a changed record is seen"
    )
    func moves() async throws {
        let rig = try await ServerRig.shared()
        let name = "dns-moves.wild.test"
        try await rig.setRecords(name, timeToLive: 2, ["127.0.0.2"])
        try await withClient(try settings(rig)) { client in
            let url = "https://\(name):\(rig.tlsPort)/echo"
            let response = try await client.get(url)
            #expect(response.destination.hasPrefix("127.0.0.2 · dns \"office\" · fresh"), "\(response.destination)")
            #expect(try await Echo(response).sni == name)
            try await rig.setRecords(name, timeToLive: 2, ["127.0.0.3"])
            let start = ContinuousClock.now
            while try await Echo(client.get(url)).address == "127.0.0.2" {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    @Test("A mapping to a service follows the targets and ports of its SRV records")
    func services() async throws {
        let rig = try await ServerRig.shared()
        let (name, service) = ("dns-orders.wild.test", "_http._tcp.dns-orders.wild.test")
        func record(_ priority: Int, _ target: String) -> String { "\(priority) 0 \(rig.tlsPort) \(target)." }
        try await rig.setRecords(
            service,
            timeToLive: 1,
            type: "SRV",
            [record(20, "three.test"), record(10, "two.test")]
        )
        var settings = try settings(rig)
        settings.resolver.mappings[try HTTPDNSMapping.Key(name)] = .via(service)
        try await withClient(settings) { client in
            let response = try await client.get("https://\(name)/echo")
            #expect(response.destination.hasPrefix("127.0.0.3:\(rig.tlsPort) "), "\(response.destination)")
            #expect(try await Echo(response).sni == name)
            try await rig.setRecords(service, timeToLive: 1, type: "SRV", [record(0, "three.test")])
            while try await Echo(client.get("https://\(name)/echo")).address != "127.0.0.4" {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await rig.setRecords(service, timeToLive: 1, type: "SRV", ["0 0 0 ."])
            let start = ContinuousClock.now
            var error: HTTPDNSClientError?
            while error == nil, ContinuousClock.now - start < .seconds(20) {
                do {
                    _ = try await client.get("https://\(name)/echo")
                } catch let failure as HTTPDNSClientError {
                    error = failure
                }
            }
            let text = error.map { "\($0)" } ?? "-"
            #expect(error?.phase == .resolve && text.contains("not available (RFC 2782)"), "\(text)")
        }
    }

    @Test("A name that does not exist fails without a connection")
    func unknown() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(try settings(rig)) { client in
            let error = try await refusal { _ = try await client.get("https://nosuch.test:\(rig.tlsPort)/") }
            #expect(error.phase == .resolve, "\(error)")
        }
    }

    /// Knows one name, and writes each question to a file.
    private static let nameServer = #"""
        import socket, struct, sys
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.53", 53))
        open(sys.argv[1] + "/ready", "w").close()
        while True:
            q, peer = s.recvfrom(4096)
            labels, at = [], 12
            while q[at]: labels.append(q[at + 1:at + 1 + q[at]].decode().lower()); at += q[at] + 1
            kind = struct.unpack(">H", q[at + 1:at + 3])[0]
            name = ".".join(labels)
            with open(sys.argv[1] + "/log", "a") as log: print(name, kind, file=log)
            known = name == "db.other.svc.test"; has = known and kind == 1
            head = q[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, 1 if has else 0, 0, 0)
            s.sendto(head + q[12:at + 5] + (b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\x07" if has else b""), peer)
        """#

    @Test(
        "A search list with ndots:5 asks the questions that glibc asks",
        .enabled(if: BindMount.isPossible, "only root may mount"),
        .enabled(if: Command.find("/usr/bin/python3") != nil)
    )
    func searches() async throws {
        let folder = try TemporaryFolder()
        let file = """
            version: 1
            providers: { cluster: { kind: dns, servers: resolv.conf, answer_scope: loopback } }
            routes: { "*": { providers: [cluster], search: resolv.conf, families: both } }
            """
        try Data(file.utf8).write(to: URL(fileURLWithPath: folder.path + "/httpdns.yaml"))
        try Data(Self.nameServer.utf8).write(to: URL(fileURLWithPath: folder.path + "/server.py"))
        let script = #"""
            ip link set lo up
            printf 'nameserver 127.0.0.53\nsearch team.svc.test svc.test test\noptions ndots:5\n' > "$0/resolv.conf"
            mount --bind "$0/resolv.conf" /etc/resolv.conf
            /usr/bin/python3 "$0/server.py" "$0" & SERVER=$!
            while ! [ -e "$0/ready" ]; do sleep 0.02; done
            for host in db.other db.other.svc.test.; do
                /usr/bin/python3 -c 'import socket, sys
            print(*sorted({a[4][0] for a in socket.getaddrinfo(sys.argv[1], 80)}))' $host
                sort "$0/log" > "$0/glibc"; rm "$0/log"
                "$1" resolve $host +short --config "$0/httpdns.yaml"
                sort "$0/log" > "$0/ours"; rm "$0/log"
                cmp "$0/glibc" "$0/ours" && wc -l < "$0/ours"
            done
            kill $SERVER
            """#
        let program = try BuiltProduct.path("resolve-test")
        let result = try await Command("unshare", ["-mn", "bash", "-c", script, folder.path, program]).run()
        #expect(result.output == "127.0.0.7\n127.0.0.7\n4\n127.0.0.7\n127.0.0.7\n2\n", "\(result)")
    }
}
#endif
