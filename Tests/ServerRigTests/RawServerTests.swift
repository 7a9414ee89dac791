// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Glibc
import ServerRig
import Testing

struct RawServerTests {
    /// A client without HTTP: bash's /dev/tcp.
    private func talk(_ server: RawServer, _ script: String) async throws -> CommandResult {
        let prefix = "exec 3<>/dev/tcp/\(server.address)/\(server.port) || exit 9\n"
        return try await Command("bash", ["-c", prefix + script]).run(within: .seconds(60))
    }

    @Test("A client's bytes are recorded exactly, and the script's answer is sent")
    func records() async throws {
        let server = try RawServer(.readHead, .sendText("hello"))
        let result = try await talk(server, #"printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' >&3; cat <&3"#)
        #expect(result.output == "hello")
        let connections = try await server.awaitConnections { $0.first?.isClosed == true }
        #expect(connections.map(\.text) == ["GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
    }

    @Test("Each connection follows its own script")
    func scripts() async throws {
        let server = try RawServer { $0 == 0 ? [.sendText("first")] : [.sendText("later")] }
        #expect(try await talk(server, "cat <&3").output == "first")
        #expect(try await talk(server, "cat <&3").output == "later")
    }

    @Test("A closed gate holds one connection and no other")
    func gates() async throws {
        let gate = Gate()
        let server = try RawServer { $0 == 0 ? [.read(1), .wait(gate), .sendText("held")] : [.sendText("free")] }
        async let held = talk(server, "printf x >&3; cat <&3")
        try await server.awaitConnections { $0.first?.received == [UInt8(ascii: "x")] }
        #expect(try await talk(server, "cat <&3").output == "free")
        #expect(server.connections[0].isClosed == false)
        gate.open()
        #expect(try await held.output == "held")
    }

    @Test("A reset is seen as a reset, and a close as the end")
    func endings() async throws {
        let server = try RawServer { $0 == 0 ? [.read(1), .reset] : [.read(1)] }
        let reset = try await talk(server, "printf x >&3; cat <&3")
        #expect(reset.status != 0 && reset.error.contains("reset"), "\(reset)")
        let closed = try await talk(server, "printf x >&3; cat <&3")
        #expect(closed.status == 0, "\(closed)")
    }

    @Test("A client that goes away is noticed while the server hangs")
    func clientCloses() async throws {
        let server = try RawServer(.readHead, .hang)
        _ = try await talk(server, #"printf '\r\n\r\n' >&3"#)
        let connections = try await server.awaitConnections { $0.first?.isClosedByClient == true }
        #expect(connections.count == 1)
    }

    @Test("With keep-alive the same steps are repeated")
    func repeats() async throws {
        let server = try RawServer(.repeatForever([.readHead, .sendText("ok\n")]))
        let result = try await talk(
            server,
            #"for i in 1 2 3; do printf 'G\r\n\r\n' >&3; read -r line <&3; echo "$line"; done"#
        )
        #expect(result.output == "ok\nok\nok\n")
        #expect(server.connections.count == 1)
    }

    @Test("Waiting in vain is an error that shows the actual events")
    func deadline() async throws {
        let server = try RawServer(.hang)
        _ = try await talk(server, "printf abc >&3")
        let error = await #expect(throws: RigError.self) {
            try await server.awaitConnections(within: .milliseconds(50)) { $0.count == 2 }
        }
        #expect(error?.description.contains("abc") == true)
    }

    @Test("A port that code or a script reserved is left to a server alone")
    func reserved() async throws {
        let port = try ServerRig.reservePort()
        let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Scripts/servers")
        let tries = """
            . '\(scripts.path)/processes.sh'
            take() { perl -MSocket -e '
                socket S, PF_INET, SOCK_STREAM, 0;
                setsockopt S, SOL_SOCKET, SO_REUSEADDR, 0 + $ARGV[1];
                print 0 + (bind(S, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) && listen S, 1)' "$1" $2; }
            take \(port) 0; reserve_ports 2 \(port); take ${ports[1]} 0; take ${ports[1]} 1
            """
        // The script takes a wanted port that nobody listens on.
        #expect(
            try await Command("bash", ["-c", tries + "; [ $ports = \(port) ] && echo kept"]).run().output == "001kept\n"
        )
        let server = try RawServer(port: port, .sendText("hello"))
        #expect(try await talk(server, "cat <&3").output == "hello")
        #expect(
            try await Command("bash", ["-c", tries + "; [ $ports = \(port) ] || echo other"]).run().output
                == "001other\n"
        )
    }

    @Test("A server that refuses connections keeps its port")
    func refusing() async throws {
        let server = try RawServer(.hang)
        try await server.refuse()
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(other) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = server.port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let results = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                [bind(other, $0, length), connect(other, $0, length)]
            }
        }
        #expect(results == [-1, -1] && errno == ECONNREFUSED)
    }

    @Test("A black hole neither accepts nor refuses")
    func blackHole() async throws {
        let hole = try BlackHole(address: "127.0.0.1")
        let connect = "exec 3<>/dev/tcp/127.0.0.1/\(hole.port)"
        // 124: ended by the limit, neither connected (0) nor refused (1).
        #expect(try await Command("timeout", ["0.4", "bash", "-c", connect]).run().status == 124)
    }
}

@Suite(.enabled(if: ServerRig.isAvailable([.compiler])))
struct TripwireTests {
    @Test(
        "The tripwire works: a lookup of a name is recorded and refused",
        arguments: [("ahosts", "getaddrinfo localhost"), ("hosts", "gethostbyname2 localhost")]
    )
    func bites(database: String, lookup: String) async throws {
        let (result, lookups) = try await Tripwire.shared().run(Command("getent", [database, "localhost"]))
        #expect(result.status != 0)
        #expect(lookups.contains(lookup), "\(lookups)")
    }

    /// It goes to a name server directly.
    @Test(
        "A query that bypasses the system resolver is recorded and refused",
        arguments: ["udp", "tcp"]
    )
    func nameServer(protocol: String) async throws {
        let script = "echo question >/dev/\(`protocol`)/127.0.0.1/53"
        let (result, lookups) = try await Tripwire.shared().run(Command("bash", ["-c", script]))
        #expect(result.status != 0)
        #expect(lookups == ["connect 127.0.0.1 port 53"])
    }

    @Test("Without the tripwire the same lookup works")
    func control() async throws {
        #expect(try await Command("getent", ["ahosts", "localhost"]).run().status == 0)
    }

    @Test("A literal address needs no lookup")
    func literals() async throws {
        let (result, lookups) = try await Tripwire.shared().run(Command("getent", ["ahosts", "127.0.0.1"]))
        #expect(result.status == 0 && lookups.isEmpty, "\(lookups)")
    }
}
