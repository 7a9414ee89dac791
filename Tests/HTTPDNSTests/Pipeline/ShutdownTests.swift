// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct ShutdownTests {
    /// Providers are shut down.
    @Test("After the shutdown everything is refused with its own code")
    func refuses() async throws {
        let rig = try Rig()
        try await rig.client.shutdown()
        try await rig.client.shutdown(drainingFor: .seconds(60))
        #expect(rig.provider.isShutDown)
        #expect(rig.wire.shutdowns.count == 2)
        let rewritten = try await Rig().client.rewrite("https://map.test/")
        #expect(await clientError { try await rig.client.get("https://one.test/") }?.code == .shutDown)
        #expect(await clientError { try await rig.client.execute(rewritten) }?.code == .shutDown)
        #expect(await clientError { try await rig.client.rewrite("https://map.test/") }?.code == .shutDown)
        #expect(await clientError { try await rig.client.resolve("map.test") }?.code == .shutDown)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A shutdown waits for a call that is about to be sent, and then ends the wire")
    func drains() async throws {
        let started = Gate()
        let release = Gate()
        let wire = ScriptedWire(opening: started, holding: release)
        let rig = try Rig(wire: wire)
        async let response = rig.client.get("https://one.test/")
        await started.passage()
        async let ended: Void = rig.client.shutdown(drainingFor: .seconds(3600))
        // Asks nobody and sends nothing, so it can be repeated until the shutdown has begun.
        while await clientError({ try await rig.client.rewrite("http://203.0.113.9/") }) == nil, !Task.isCancelled {
            await Task.yield()
        }
        #expect(rig.wire.shutdowns.isEmpty && !rig.provider.isShutDown)
        release.open()
        #expect(try await response.status == .ok)
        try await ended
        #expect(rig.wire.shutdowns.count == 1)
        #expect(try #require(rig.wire.shutdowns.first) > .seconds(3000))
    }

    @Test("A shutdown without a draining time waits for no call")
    func cuts() async throws {
        let started = Gate()
        let release = Gate()
        let wire = ScriptedWire { request, _ in
            started.open()
            await release.passage()
            throw TransferFailure(code: .shutDown, phase: .body, message: "cut")
        }
        let rig = try Rig(wire: wire)
        async let failed = clientError { try await rig.client.get("https://one.test/") }
        await started.passage()
        try await rig.client.shutdown()
        #expect(rig.wire.shutdowns == [.zero])
        release.open()
        #expect(await failed?.code == .shutDown)
    }

    /// It ends with `CancellationError`.
    @Test("A canceled shutdown cuts transfers immediately and still shuts the client down")
    func canceled() async throws {
        let started = Gate()
        let release = Gate()
        let wire = ScriptedWire(opening: started, holding: release)
        let rig = try Rig(wire: wire)
        async let response = rig.client.get("https://one.test/")
        await started.passage()
        let ending = Task { try await rig.client.shutdown(drainingFor: .seconds(3600)) }
        ending.cancel()
        await #expect(throws: CancellationError.self) { try await ending.value }
        #expect(rig.wire.shutdowns.first == .zero)
        #expect(rig.provider.isShutDown)
        release.open()
        _ = try? await response
        #expect(await clientError { try await rig.client.get("https://one.test/") }?.code == .shutDown)
    }

    /// A FIFO takes the place of a file system that hangs.
    @Test("A shutdown ends a call that waits for the file of a secret", arguments: [false, true])
    func hangingSecret(isOfProxy: Bool) async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.path("secret"), 0o600) == 0)
        let secret = HTTPDNSSecret.file(folder.path("secret"))
        let rig = try Rig {
            if isOfProxy {
                var proxy = try HTTPDNSClient.Proxy("http://192.0.2.1:3128")
                proxy.credential = HTTPDNSClient.Proxy.Credential(user: "me", password: secret)
                $0.proxy = .through(proxy)
            } else {
                $0.credentials = [try #require(HTTPDNSClient.Origin("https://map.test")): .bearer(secret)]
            }
        }
        async let failed = clientError { try await rig.client.get("https://map.test/") }
        while rig.client.pipeline.gate.count == 0, !Task.isCancelled { await Task.yield() }
        try await rig.client.shutdown()
        #expect(await failed?.code == .shutDown)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A shutdown ends a call that waits for a token")
    func hangingToken() async throws {
        let (asked, release) = (Gate(), Gate())
        let rig = try Rig {
            let token = HTTPDNSClient.Credential.bearer {
                asked.open()
                await release.passage()
                throw CancellationError()
            }
            $0.credentials = [try #require(HTTPDNSClient.Origin("https://map.test")): token]
        }
        async let failed = clientError { try await rig.client.get("https://map.test/") }
        await asked.passage()
        try await rig.client.shutdown()
        #expect(await failed?.code == .shutDown)
        #expect(rig.wire.requests.isEmpty)
        release.open()
    }

    @Test("A watcher that hangs in a file system does not delay a shutdown")
    func hangingWatcher() async throws {
        let release = Gate()
        let started = Gate()
        let wire = ScriptedWire(opening: started, holding: release)
        let watch = HangingWatch(until: release)
        let rig = try Rig(wire: wire) { $0.source = watch }
        rig.client.startWatching(rig.configuration)
        async let response = rig.client.get("https://one.test/")
        await started.passage()
        let start = ContinuousClock.now
        try await rig.client.shutdown(drainingFor: .milliseconds(200))
        let elapsed = ContinuousClock.now - start
        // A shutdown that waited for the watcher would never end: the gate opens behind it.
        #expect(elapsed >= .milliseconds(200) && elapsed < .seconds(600), "\(elapsed)")
        #expect(rig.wire.shutdowns.first.map { $0 < .milliseconds(100) } == true && rig.provider.isShutDown)
        #expect(watch.isCancelled)
        release.open()
        _ = try? await response
    }

    /// A source whose watch is stuck until a gate opens.
    private final class HangingWatch: ConfigurationSource, ConfigurationWatch {
        private let gate: Gate
        private let canceled = Lock(false)

        init(until gate: Gate) { self.gate = gate }

        var isCancelled: Bool { canceled.withLock { $0 } }
        var status: HTTPDNSClient.ReloadStatus { HTTPDNSClient.ReloadStatus() }

        func watch(
            for settings: HTTPDNSClient.Configuration,
            applying apply: @escaping ApplySettings
        ) -> any ConfigurationWatch { self }

        func reload() async throws -> HTTPDNSResolver.ReloadResult { throw ConfigurationWatchEnded() }
        func rebase(on settings: HTTPDNSClient.Configuration) {}
        func end() async { await gate.passage() }
        func cancel() { canceled.withLock { $0 = true } }
    }

    @Test("Mappings take no changes after the shutdown")
    func mappings() async throws {
        let rig = try Rig()
        try await rig.client.shutdown()
        let generation = rig.client.mappings.generation
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
            try rig.client.mappings.apply { $0["new.test"] = .addresses(["203.0.113.9"]) }
        }
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
            try rig.client.mappings.replaceBase(with: HTTPDNSMappings())
        }
        #expect(rig.client.mappings.generation == generation)
    }

    @Test("Many concurrent shutdowns all return")
    func concurrent() async throws {
        let rig = try Rig()
        _ = try await rig.client.get("https://one.test/")
        try await concurrently(20) { number in try await rig.client.shutdown(drainingFor: .seconds(number)) }
        #expect(rig.wire.shutdowns.count == 20)
    }
}
