// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache

/// A store of a program, in a dictionary, whose functions fail or hang as a test says.
actor TableStore: HTTPDNSResponseStore {
    typealias StoredResponse = HTTPDNSClient.ResponseCache.StoredResponse
    typealias Selection = HTTPDNSClient.ResponseCache.Selection

    enum Call: CaseIterable, Sendable {
        case responses, read, writer, append, finish, remove
    }

    enum Fault: Sendable {
        case error, hang
    }

    struct Failure: Error, CustomStringConvertible {
        let description = "the table is closed"
    }

    private struct Row: Sendable {
        let head: [UInt8]
        let body: [UInt8]
    }

    private var rows: [String: [String: Row]] = [:]
    private let faults = Lock<[Call: Fault]>([:])
    private let calls = Lock<[Call: Int]>([:])
    /// Called before a body is stored.
    private let onFinish = Lock<(@Sendable () async -> Void)?>(nil)
    /// Whether all responses are returned, whatever was asked for.
    private let ignoresSelection: Bool
    /// The number of bytes that the reading of a body leaves out.
    private let missing: Int

    init(ignoresSelection: Bool = false, missing: Int = 0) {
        self.ignoresSelection = ignoresSelection
        self.missing = missing
    }

    nonisolated func fail(_ calls: [Call], _ fault: Fault? = .error) {
        faults.withLock { faults in for call in calls { faults[call] = fault } }
    }

    nonisolated func beforeFinish(_ work: (@Sendable () async -> Void)?) { onFinish.withLock { $0 = work } }

    nonisolated func count(of call: Call) -> Int { calls.withLock { $0[call] ?? 0 } }

    var ids: Set<String> { Set(rows.values.flatMap(\.keys)) }

    private nonisolated func begin(_ call: Call) async throws {
        calls.withLock { $0[call, default: 0] += 1 }
        switch faults.withLock({ $0[call] }) {
        case .error?: throw Failure()
        case .hang?: try await Task.sleep(for: .seconds(3600))
        case nil: break
        }
    }

    func responses(_ selection: Selection) async throws -> [StoredResponse] {
        try await begin(.responses)
        let all = rows.values.flatMap(\.values).compactMap { row in
            StoredResponse(encoded: row.head, bodyLength: Int64(row.body.count)) { [self] range in
                try await begin(.read)
                return Array(row.body[Int(range.lowerBound)..<Int(range.upperBound)].dropLast(missing))
            }
        }
        return ignoresSelection ? all : all.filter(selection.contains)
    }

    func writer(for response: StoredResponse) async throws -> (any HTTPDNSResponseWriter)? {
        try await begin(.writer)
        return Writer(response, self)
    }

    func remove(_ selection: Selection) async throws {
        try await begin(.remove)
        for (url, variants) in rows where selection.url ?? url == url {
            rows[url] = variants.filter { id, row in
                guard let ids = selection.ids else { return false }
                return !ids.contains(id)
            }
        }
    }

    private func store(_ response: StoredResponse, _ body: [UInt8]) {
        rows[response.url, default: [:]][response.id] = Row(head: response.encoded, body: body)
    }

    private actor Writer: HTTPDNSResponseWriter {
        private let response: StoredResponse
        private let table: TableStore
        private var body: [UInt8] = []

        init(_ response: StoredResponse, _ table: TableStore) {
            self.response = response
            self.table = table
        }

        func append(_ bytes: [UInt8]) async throws -> Bool {
            try await table.begin(.append)
            body += bytes
            return true
        }

        func finish() async throws -> Bool {
            try await table.begin(.finish)
            await table.onFinish.withLock { $0 }?()
            await table.store(response, body)
            return true
        }
    }
}
