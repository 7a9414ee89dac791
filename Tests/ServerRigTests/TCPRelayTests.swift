// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

struct TCPRelayTests {
    /// A client without HTTP: bash's /dev/tcp, ended after a while.
    private func talk(_ relay: TCPRelay, within seconds: Double = 30, _ script: String) async throws -> CommandResult {
        let prefix = "exec 3<>/dev/tcp/\(relay.address)/\(relay.port) || exit 9\n"
        return try await Command("timeout", ["\(seconds)", "bash", "-c", prefix + script]).run(within: .seconds(60))
    }

    @Test("Bytes pass both ways, and the end of either side ends the other")
    func passes() async throws {
        let server = try RawServer(address: "127.0.0.2", .read(4), .sendText("pong"))
        let relay = try TCPRelay(to: server.address, port: server.port)
        #expect(try await talk(relay, "printf ping >&3; cat <&3").output == "pong")
        #expect(server.connections.map(\.text) == ["ping"] && relay.connectionCount == 1)
    }

    @Test("A lost answer leaves the server its request and the client nothing")
    func loseAnswers() async throws {
        let answered = Gate()
        let server = try RawServer(.read(4), .sendText("pong"), .open(answered), .hang)
        let relay = try TCPRelay(to: server.address, port: server.port)
        relay.loseAnswers()
        async let result = talk(relay, within: 6, "printf ping >&3; cat <&3")
        await answered.passage()
        // 124: ended by its limit, with nothing read.
        let ended = try await result
        #expect(ended.status == 124 && ended.output.isEmpty && server.connections[0].text == "ping")
    }

    @Test("Swallowed packets do not arrive, and no new connection is established")
    func swallow() async throws {
        let (reached, folder) = (Gate(), try TemporaryFolder())
        let server = try RawServer(.read(4), .open(reached), .readToEnd)
        let relay = try TCPRelay(to: server.address, port: server.port)
        let path = folder.path("goes-on")
        async let result = talk(
            relay,
            within: 8,
            "printf ping >&3; until [ -e \(path) ]; do sleep 0.01; done; printf more >&3; cat <&3"
        )
        await reached.passage()
        relay.swallow()
        try folder.write("", to: "goes-on")
        #expect(try await talk(relay, within: 0.4, "true").status == 124)
        #expect(try await result.status == 124)
        #expect(server.connections.map(\.text) == ["ping"])
    }

    @Test("Ended connections show a reset as a reset, and a close as the end", arguments: [true, false])
    func ends(resetting: Bool) async throws {
        let reached = Gate()
        let server = try RawServer(.read(4), .open(reached), .hang)
        let relay = try TCPRelay(to: server.address, port: server.port)
        async let result = talk(relay, "printf ping >&3; cat <&3")
        await reached.passage()
        relay.endConnections(resetting: resetting)
        let ended = try await result
        #expect((ended.status != 0) == resetting && ended.error.contains("reset") == resetting, "\(ended)")
        try await server.awaitConnections { $0[0].isClosedByClient }
    }
}
