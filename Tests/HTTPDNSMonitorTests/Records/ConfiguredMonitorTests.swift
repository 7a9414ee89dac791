// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSMonitor
import ServerRig
import Testing

struct ConfiguredMonitorTests {
    @Test("A monitor of the settings that is started too counts each call once")
    func startedToo() async throws {
        let server = try RawServer(.serve("hello"))
        let monitor = Monitor()
        let monitored = try await MonitoredClient(["one.test": server.port]) { $0.observers = [monitor] }
        monitor.start(on: monitored.client)
        await monitored.get("http://one.test/a")
        #expect(monitor.records.map(\.url) == ["http://one.test/a"] && monitor.counters.calls.calls == 1)
        // The settings have it for all calls of the client.
        monitor.stop(on: monitored.client)
        await monitored.get("http://one.test/b")
        #expect(monitor.counters.calls.calls == 2)
        try await monitored.client.shutdown()
    }

    @Test("A monitor that is added as an observer and started counts each call once")
    func addedToo() async throws {
        let server = try RawServer(.serve("hello"))
        let monitor = Monitor()
        let monitored = try await MonitoredClient(["one.test": server.port])
        let observation = monitored.client.addObserver(monitor)
        monitor.start(on: monitored.client)
        await monitored.get("http://one.test/a")
        #expect(monitor.counters.calls.calls == 1 && monitor.records.count == 1)
        observation.stop()
        await monitored.get("http://one.test/b")
        #expect(monitor.counters.calls.calls == 2 && monitor.isStarted(on: monitored.client))
        try await monitored.client.shutdown()
    }
}
