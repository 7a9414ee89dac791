// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import Testing

@testable import resolve_test

struct WatchNoticeTests {
    private let clock = ClockText { String(ClockText.universal($0).dropFirst(11).prefix(8)) }
    private let date = Date(timeIntervalSince1970: 1_795_269_731.5)

    private func event(_ kind: HTTPDNSResolver.Event.Kind, _ fill: (inout HTTPDNSResolver.Event) throws -> Void) throws
        -> WatchNotice
    {
        var event = HTTPDNSResolver.Event(kind, at: .now)
        try fill(&event)
        return WatchNotice(date: date, content: .event(event))
    }

    @Test("A change is one line with both sides")
    func change() throws {
        let notice = try event(.changed) { event in
            event.host = try HTTPDNSName("img.test")
            event.provider = "backup"
            event.previousAddresses = [try Samples.address("127.0.0.2")]
            event.addresses = [try Samples.address("127.0.0.3")]
            event.duration = .seconds(5)
        }
        #expect(
            notice.text(providerKinds: [:], clock: clock)
                == "14:02:11  changed               img.test   backup   127.0.0.2 -> 127.0.0.3   5 s left"
        )
        #expect(
            notice.json().oneLine == """
                {"addresses":["127.0.0.3"],"code":null,"count":null,"durationSeconds":5,"elapsedSeconds":null,\
                "event":"changed","host":"img.test","message":null,"missedBefore":0,\
                "previousAddresses":["127.0.0.2"],"provider":"backup","route":null,"source":null,\
                "time":"2026-11-21T14:02:11.500Z"}
                """
        )
    }

    @Test("A quarantine is one line with its duration and reason, and moves no cursor")
    func quarantine() throws {
        let notice = try event(.providerQuarantined) { event in
            event.provider = "ali\u{1B}[2J"
            event.duration = .seconds(240)
            event.message = "InvalidSignature\nforged line"
        }
        let text = notice.text(providerKinds: [:], clock: clock)
        #expect(text.hasPrefix("14:02:11  provider-quarantined  ali"))
        #expect(text.contains("for 4 min   InvalidSignature"))
        #expect(!text.contains("\u{1B}") && !text.contains("\n"))
    }

    @Test("An answer that repeats the last one is not printed, and another state is")
    func states() throws {
        var model = WatchModel([try HostArgument("img.test:8443")])
        let fresh = try Samples.provided(["127.0.0.2"], port: 8443)
        var stale = fresh
        stale.isStale = true
        let failure = CommandFailure.failed(code: "resolve-failed", "no address")
        let told = [
            .success(fresh), .success(fresh), .success(stale), .success(stale), .failure(failure), .failure(failure),
            Result<HTTPDNSResolver.Resolution, CommandFailure>.success(fresh),
        ].map { model.take(.answer(0, $0), at: date).count }
        #expect(told == [1, 0, 1, 0, 1, 0, 1])
        #expect(model.isAnswered(times: 7) && !model.isAnswered(times: 8))
    }
}
#endif
