// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

/// A client with much in its cache that nobody uses. In real time, see `NeverWaitingTests`.
@Suite(
    "An idle client",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct QuietClientTests {
    /// What the process has used: CPU, and how often one of its threads began to run again after waiting.
    private struct Usage {
        var milliseconds: Double
        var wakeUps: Int

        init() {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            let microseconds = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
            milliseconds = seconds * 1000 + microseconds / 1000
            wakeUps = usage.ru_nvcsw
        }
    }

    /// 1,000 names with a time to live of 2 s, then no traffic.
    @Test("An idle client asks no provider, and its process sleeps")
    func quiet() async throws {
        let seconds = ServerRig.hasTime ? 60 : 10
        let provider = HTTPDNSScriptedProvider(name: "scripted")
        let names = try (0..<1_000).map { try HTTPDNSName("n\($0).shop.test") }
        for name in names {
            provider.answer(
                .answer(.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(2))),
                for: name
            )
        }
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["scripted"], fallback: .off))]
        try await withClient(configuration) { client in
            let clock = SystemTimeSource()
            // Two rounds, the second late in the life of the answers, so that they are refreshed once.
            for _ in 0..<2 {
                for name in names { _ = try await client.resolve(name.description) }
                try await clock.sleep(until: clock.now() + .milliseconds(1_800))
            }
            try await clock.sleep(until: clock.now() + .seconds(2))
            // The runtime lets go of threads five seconds after they had work, which wakes each of them.
            var (threads, left) = (0, try ProcessState.threadNames().count)
            while threads != left {
                threads = left
                try await clock.sleep(until: clock.now() + .seconds(6))
                left = try ProcessState.threadNames().count
            }
            let (asked, before) = (provider.queries.count, Usage())
            try await clock.sleep(until: clock.now() + .seconds(seconds))
            let after = Usage()
            #expect(provider.queries.count == asked)
            #expect(asked >= 1_000)
            let milliseconds = after.milliseconds - before.milliseconds
            // 20 ms in a minute are aimed at.
            #expect(milliseconds < 20, "\(milliseconds) ms of CPU in \(seconds) s")
            let wakeUps = after.wakeUps - before.wakeUps
            // The runtime's own, one a second, are among them.
            #expect(wakeUps <= 2 * seconds, "\(wakeUps) wake-ups in \(seconds) s")
            print("idle \(seconds) s: \(milliseconds) ms of CPU, \(wakeUps) wake-ups, 0 of \(asked) queries")
        }
    }
}
