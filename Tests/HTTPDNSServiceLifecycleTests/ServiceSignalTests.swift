// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if ServiceLifecycle && YAML
import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSServiceLifecycle
import ServerRig
import Testing

/// Signals to a process of their own: httpdns-service-probe.
struct ServiceSignalTests {
    private let folder: TemporaryFolder
    private var file: String { folder.path("httpdns.yaml") }

    init() throws { folder = try TemporaryFolder() }

    private func write(port: UInt16) throws {
        try folder.replace("httpdns.yaml", with: "version: 1\nmappings: { one.test: '127.0.0.1:\(port)' }\n")
    }

    private func probe() throws -> Command {
        Command(try BuiltProduct.path("httpdns-service-probe"), [file, "http://one.test"])
    }

    /// The number of the process whose request `server` has.
    private func client(of server: RawServer) async throws -> pid_t {
        let connections = try await server.awaitConnections { $0.first?.text.hasSuffix("\r\n\r\n") == true }
        let line = try #require(connections.first?.text.split(separator: " ").dropFirst().first)
        return try #require(pid_t(line.dropFirst()))
    }

    private func answer(after gate: Gate) throws -> RawServer {
        try RawServer(.readHead, .wait(gate), .respond("hello", fields: "Connection: close\r\n"))
    }

    /// Nothing but the client waits for that request.
    @Test("SIGTERM lets a request in flight end before the process ends")
    func terminate() async throws {
        let gate = Gate()
        let server = try answer(after: gate)
        try write(port: server.port)
        let command = try probe()
        async let result = command.run()
        let process = try await client(of: server)
        kill(process, SIGTERM)
        await awaitState("0 closed")
        gate.open()
        let ended = try await result
        #expect(ended.status == 0 && ended.error.isEmpty, "\(ended)")
        #expect(ended.output == "200 5\nended\n")
    }

    @Test("SIGHUP makes the client read its file again, and the next request follows it")
    func hangUp() async throws {
        let gate = Gate()
        gate.open()
        let (first, second) = (try answer(after: gate), try answer(after: gate))
        try write(port: first.port)
        let command = try probe()
        async let result = command.run()
        let process = try await client(of: first)
        try write(port: second.port)
        kill(process, SIGHUP)
        #expect(try await client(of: second) == process)
        kill(process, SIGTERM)
        let ended = try await result
        #expect(ended.status == 0 && ended.output.hasSuffix("ended\n"), "\(ended)")
    }

    @Test("An unusable file does not end the process, and the old settings stay")
    func broken() async throws {
        let gate = Gate()
        gate.open()
        let (first, second) = (try answer(after: gate), try answer(after: gate))
        try write(port: first.port)
        let command = try probe()
        async let result = command.run()
        let process = try await client(of: first)
        try folder.replace("httpdns.yaml", with: "version: 1\nmapings: {}\n")
        kill(process, SIGHUP)
        await awaitState("1 open")
        try write(port: second.port)
        kill(process, SIGHUP)
        #expect(try await client(of: second) == process)
        kill(process, SIGTERM)
        #expect(try await result.status == 0)
    }

    @Test("A client that handles SIGHUP on its own keeps it", arguments: [false, true])
    func once(byItself: Bool) async throws {
        try write(port: 1)
        var configuration = try HTTPDNSClient.Configuration.file(file)
        configuration.reloadsOnHangUp = byItself
        let client = try await HTTPDNSClient(configuration: configuration)
        #expect(HTTPDNSService(client: client).takesHangUp == !byItself)
        try await client.shutdown()
    }

    /// Returns when the probe's state is this; it writes a new one within milliseconds.
    private func awaitState(_ state: String) async {
        while folder.read("httpdns.yaml.state") != state {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
#endif
