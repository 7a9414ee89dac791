// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Testing

@testable import HTTPDNSPrimitives

struct DetachedThreadTests {
    @Test("The thread leaves all signals to the application but those for its own faults")
    func signals() async throws {
        let blocked: UInt64? = await withCheckedContinuation { continuation in
            let started = DetachedThread.start(named: "signals") {
                let status = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
                let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
                continuation.resume(returning: line.flatMap { UInt64($0.dropFirst(8), radix: 16) })
            }
            if !started { continuation.resume(returning: nil) }
        }
        let mask = try #require(blocked)
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
            #expect(mask & (1 << (signal - 1)) == 0, "signal \(signal)")
        }
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGALRM] {
            #expect(mask & (1 << (signal - 1)) != 0, "signal \(signal)")
        }
    }
}
