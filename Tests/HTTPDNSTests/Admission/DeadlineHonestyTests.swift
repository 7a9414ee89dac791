// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSPrimitives
import ServerRig
import Testing

/// A call with a total of 2 s, and a stall in each phase: it ends then, and its error names the phase.
@Suite("Deadline honesty", .timeLimit(.minutes(10)))
struct DeadlineHonestyTests {
    private static let total = Duration.seconds(2)

    /// The test stalls a call in each phase.
    @Test("A stalled call ends at its deadline, and its error names phase and limit", arguments: StalledCall.phases)
    func stall(phase: HTTPDNSClientError.Phase) async throws {
        let call = try StalledCall(in: phase)
        var configuration = try call.configuration()
        configuration.timeouts.total = Self.total
        let error = try #require(await call.failure(configuration).error)
        // All other limits are 60 s: an error that names this one was not theirs, however busy the machine was.
        #expect(error.code == .timedOut && error.phase == phase && error.isCallDeadline, "\(error)")
        #expect(error.limit == Self.total && error.requestMayHaveBeenSent == call.mayHaveBeenSent, "\(error)")
        #expect(error.elapsed >= Self.total, "\(error)")
    }

    /// 1,000 requests behind a limit of 4, which a silent server takes up.
    @Test("Queued requests behind a silent server end at their deadline")
    func queue() async throws {
        let queue = try await FullQueue(total: Self.total)
        let errors = await queue.failures(1000).map(\.error)
        let honest = errors.compactMap(\.self).filter {
            $0.code == .timedOut && $0.phase == .queue && $0.isCallDeadline && $0.limit == Self.total
                && !$0.requestMayHaveBeenSent && $0.elapsed >= Self.total
        }
        #expect(errors.count == 1000 && honest.count == 1000)
        // The four in front, who have two minutes, have not moved: no place became free for any of them.
        #expect(queue.client.requestsWaiting == 0 && queue.placesTaken == 4)
        #expect(queue.server.connections.count == 4)
        try await queue.end()
        #expect(queue.server.connections.count == 4)
    }
}
