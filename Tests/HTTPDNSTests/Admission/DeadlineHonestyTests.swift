// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A call with a total, and a stall in each phase: it ends then, and its error names the phase.
struct DeadlineHonestyTests {
    /// On a busy machine a short time may be over before a call comes to its phase: then the same with a longer one.
    private static let totals = [Duration.seconds(2), .seconds(10), .seconds(50)]

    /// The test stalls a call in each phase.
    @Test("A stalled call ends at its deadline, and its error names phase and limit", arguments: StalledCall.phases)
    func stall(phase: HTTPDNSClientError.Phase) async throws {
        for total in Self.totals {
            let call = try StalledCall(in: phase)
            var configuration = try call.configuration()
            configuration.timeouts.total = total
            let error = try #require(await call.failure(configuration).error)
            if error.code == .timedOut, error.phase != phase, total != Self.totals.last { continue }
            // All other limits are 60 s: an error that names this one was not theirs, however busy the machine was.
            #expect(error.code == .timedOut && error.phase == phase && error.isCallDeadline, "\(error)")
            #expect(error.limit == total && error.requestMayHaveBeenSent == call.mayHaveBeenSent, "\(error)")
            #expect(error.elapsed >= total, "\(error)")
            return
        }
    }

    /// 1,000 requests behind a limit of 4, which a silent server takes up.
    @Test("Queued requests behind a silent server end at their deadline")
    func queue() async throws {
        for total in Self.totals {
            let queue = try await FullQueue(total: total)
            let errors = await queue.failures(1000).map(\.error)
            let honest = errors.compactMap(\.self).filter {
                $0.code == .timedOut && $0.phase == .queue && $0.isCallDeadline && $0.limit == total
                    && !$0.requestMayHaveBeenSent && $0.elapsed >= total
            }
            let haveAllWaited = errors.allSatisfy { $0?.phase == .queue }
            if !haveAllWaited, total != Self.totals.last {
                try await queue.end()
                continue
            }
            #expect(errors.count == 1000 && honest.count == 1000)
            // The four in front, who have ten minutes, have not moved: no place became free for any of them.
            #expect(queue.client.requestsWaiting == 0 && queue.placesTaken == 4)
            #expect(queue.server.connections.count == 4)
            try await queue.end()
            #expect(queue.server.connections.count == 4)
            return
        }
    }
}
