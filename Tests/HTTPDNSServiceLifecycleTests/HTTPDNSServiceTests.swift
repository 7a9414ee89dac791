// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if ServiceLifecycle
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSServiceLifecycle
import ServerRig
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

struct HTTPDNSServiceTests {
    /// One request that its server has, and answers when the gate opens.
    private struct Waiting {
        let gate = Gate()
        let server: RawServer
        let client: HTTPDNSClient

        init() async throws {
            server = try RawServer(.readHead, .wait(gate), .respond("hello"))
            var configuration = HTTPDNSClient.Configuration()
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1"])]
            client = try await HTTPDNSClient(configuration: configuration)
        }

        /// The body, or the error's code.
        func answer() async -> String {
            do {
                let response = try await client.get("http://one.test:\(server.port)/")
                return String(decoding: try await response.body.collect(upTo: .kibibytes(1)), as: UTF8.self)
            } catch {
                return (error as? HTTPDNSClientError)?.code.description ?? "\(error)"
            }
        }

        func arrival() async throws {
            try await server.awaitConnections { $0.first?.text.hasSuffix("\r\n\r\n") == true }
        }

        /// Returns when the client takes no more requests. What it asks for goes to nobody.
        func closing() async {
            while (try? await client.rewrite("http://203.0.113.9/")) != nil { await Task.yield() }
        }
    }

    @Test("A graceful shutdown refuses new requests and lets one in flight end")
    func drains() async throws {
        let waiting = try await Waiting()
        try await testGracefulShutdown { trigger in
            async let running: Void = HTTPDNSService(client: waiting.client, drainingFor: .seconds(3600)).run()
            async let answer = waiting.answer()
            try await waiting.arrival()
            trigger.triggerGracefulShutdown()
            await waiting.closing()
            waiting.gate.open()
            #expect(await answer == "hello")
            try await running
        }
    }

    @Test("After the draining time requests in flight are cut, and the service ends well")
    func cuts() async throws {
        let waiting = try await Waiting()
        try await testGracefulShutdown { trigger in
            async let running: Void = HTTPDNSService(client: waiting.client, drainingFor: .milliseconds(20)).run()
            async let answer = waiting.answer()
            try await waiting.arrival()
            trigger.triggerGracefulShutdown()
            #expect(await answer == "shut-down")
            try await running
        }
        waiting.gate.open()
    }

    @Test("A cancellation cuts requests in flight immediately, even while draining", arguments: [false, true])
    func canceled(whileDraining: Bool) async throws {
        let waiting = try await Waiting()
        await testGracefulShutdown { trigger in
            let running = Task {
                try await HTTPDNSService(client: waiting.client, drainingFor: .seconds(3600)).run()
            }
            async let answer = waiting.answer()
            await #expect(throws: Never.self) { try await waiting.arrival() }
            if whileDraining {
                trigger.triggerGracefulShutdown()
                await waiting.closing()
            }
            running.cancel()
            #expect(await answer == "shut-down")
            await #expect(throws: CancellationError.self) { try await running.value }
        }
        waiting.gate.open()
    }

    #if YAML
    @Test("The service handles SIGHUP, unless the program keeps it")
    func hangUp() async throws {
        let folder = try TemporaryFolder()
        let client = try await HTTPDNSClient(configuration: .file(folder.write("version: 1\n", to: "f.yaml")))
        #expect(HTTPDNSService(client: client).takesHangUp)
        #expect(!HTTPDNSService(client: client, reloadsOnHangUp: false).takesHangUp)
        try await client.shutdown()
    }
    #endif

    @Test("Settings from code leave SIGHUP alone")
    func code() async throws {
        let client = try await HTTPDNSClient()
        #expect(!HTTPDNSService(client: client).takesHangUp)
        try await client.shutdown()
    }
}
#endif
