// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig

/// The events of one call as the observer of its request gets them, and its record.
struct ObservedEvents: Sendable {
    private let journal = Journal<HTTPDNSClient.RequestEvent>()
    private let records = Journal<HTTPDNSClient.CallRecord>()
    private let over = Gate()

    /// Observes a request, and records the calls of its client.
    func observe(_ request: inout HTTPDNSClient.Request, of client: HTTPDNSClient) {
        client.recordCalls { [records] in records.write($0) }
        request.observer = note
    }

    /// Keeps an event.
    func note(_ event: HTTPDNSClient.RequestEvent) {
        journal.write(event)
        if event.kind.isTerminal { over.open() }
    }

    /// Returns all events, once the last one is there.
    func all() async -> [HTTPDNSClient.RequestEvent] {
        await over.passage()
        return journal.all
    }

    /// The number of the events so far.
    var count: Int { journal.all.count }

    /// The kinds of the events in their order, with spaces between them.
    func text() async -> String { await all().text }

    /// The only record of the calls.
    var record: HTTPDNSClient.CallRecord? { records.all.count == 1 ? records.all.first : nil }

    /// The first record with an outcome.
    func record(of outcome: HTTPDNSClient.CallRecord.Outcome) -> HTTPDNSClient.CallRecord? {
        records.all.first { $0.outcome == outcome }
    }

    var recordCount: Int { records.all.count }
}

extension [HTTPDNSClient.RequestEvent] {
    var text: String { map(\.kind.description).joined(separator: " ") }
}

extension HTTPDNSClient {
    /// Makes a call, and reads its body.
    /// - Returns: The error, if it fails.
    func outcome(of request: HTTPDNSClient.Request) async -> (any Error)? {
        do {
            _ = try await execute(request).body.collect(upTo: .mebibytes(1))
            return nil
        } catch {
            return error
        }
    }
}
