// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

@testable import HTTPDNSCurl
@testable import HTTPDNSResponseCache

/// A run of one case, with the rules of the suite: each step has its status, body, fields and requests.
struct CacheSuiteRun {
    /// The time of the first step: Sun, 06 Nov 2022 08:49:37 GMT.
    static let start: Int64 = 1_667_724_577

    /// A response that a cache may have stored: the first one under its path, with the fields of later ones that update it.
    private struct Stored: Sendable {
        let status: Int
        let body: String
        var fields: HTTPFields
    }

    /// An expectation that a cache does not meet.
    struct Failure: Sendable {
        /// The number of the step, from 1; 0 for a text that is no case, and the one after the last for the end of the case.
        let step: Int
        let reason: String
    }

    private let steps: [CacheSuiteStep]

    init(_ text: String) { steps = CacheSuiteStep.steps(text) }

    /// Returns the first expectation that a cache does not meet; nil when it meets all.
    /// - Parameters:
    ///   - folder: The folder of the cache; nil for one in memory.
    ///   - store: The store of the program for the cache; nil for one in memory.
    func failure(
        _ mode: HTTPDNSClient.ResponseCache.Mode,
        folder: String?,
        store: (any HTTPDNSResponseStore)? = nil
    ) async throws -> Failure? {
        if let part = steps.lazy.compactMap(\.unknown).first { return Failure(step: 0, reason: "unknown: \(part)") }
        let (steps, time) = (steps, TestTime(start: Self.start))
        let current = Lock(0)
        let stored = Lock<[String: Stored]>([:])
        let sent = Lock<HTTPFields>([:])
        let origin = ScriptedWire { request, _ in
            let step = steps[current.withLock { $0 }]
            if step.isClosed { throw TransferFailureSample.closed }
            for head in step.interimResponses { request.interim?.add(ResponseHead(head)) }
            // The client receives them before the response.
            await request.interim?.close()
            time.move(seconds: step.delay)
            let isNotModified = Self.isNotModified(step, request, stored.withLock { $0[step.path] })
            var answer = Scripted(
                isNotModified ? "" : step.body,
                status: HTTPResponse.Status(code: isNotModified ? 304 : step.status)
            )
            let now = time.clock.now() / 1000
            answer.fields = HTTPFields(step.response.map { $0.field(at: now) })
            sent.withLock { $0 = answer.fields }
            stored.withLock { Self.note(answer.fields, of: step, isUpdate: isNotModified, &$0) }
            return answer.answer(to: request)
        }
        let client = try await CachedClient(origin, folder: folder, store: store, time: time) { $0.mode = mode }
        let interim = Lock<[[HTTPResponse]]>(steps.map { _ in [] })
        for (index, step) in steps.enumerated() {
            current.withLock { $0 = index }
            var failure = try await failure(of: step, client) { head in
                interim.withLock { $0[index].append(head) }
            } check: { reply in
                Self.failure(of: step, reply, sent: sent.withLock { $0 }, stored.withLock { $0[step.path] })
            }
            let received = interim.withLock { $0[index] }
            if received != step.interimResponses { failure = failure ?? "interim responses \(received)" }
            if let failure {
                try await client.client.shutdown()
                return Failure(step: index + 1, reason: failure)
            }
            if step.isPaused { time.move(seconds: 3) }
        }
        // It returns when the requests in the background have ended too.
        try await client.client.shutdown(drainingFor: .seconds(10))
        let late = Self.failure(of: steps, client, interim.withLock { $0 })
        return late.map { Failure(step: steps.count + 1, reason: $0) }
    }

    /// Returns why the requests and interim responses of all steps together are not the expected ones.
    private static func failure(of steps: [CacheSuiteStep], _ client: CachedClient, _ interim: [[HTTPResponse]])
        -> String?
    {
        let arrivals = steps.reduce(0) { $0 + $1.arrivalCount }
        if client.origin.count != arrivals {
            return "\(client.origin.count) requests reached the server, not \(arrivals)"
        }
        let refreshes = client.cache.counters.backgroundRefreshes
        if refreshes != steps.count(where: \.isRefreshed) { return "\(refreshes) refreshes in the background" }
        return zip(steps, interim).allSatisfy { $0.interimResponses == $1 } ? nil : "interim responses \(interim)"
    }

    /// Whether the server answers 304: the request has the validator that the step expects.
    private static func isNotModified(_ step: CacheSuiteStep, _ request: TransferRequest, _ stored: Stored?) -> Bool {
        guard let stored else { return false }
        let (condition, validator): (HTTPField.Name, HTTPField.Name)
        switch step.source {
        case .etag: (condition, validator) = (.ifNoneMatch, .eTag)
        case .lm: (condition, validator) = (.ifModifiedSince, .lastModified)
        default: return false
        }
        let sent = values(request.headerFields, condition)
        return !sent.isEmpty && sent == values(stored.fields, validator)
    }

    /// Notes what a cache that stores everything has after a response.
    private static func note(
        _ fields: HTTPFields,
        of step: CacheSuiteStep,
        isUpdate: Bool,
        _ stored: inout [String: Stored]
    ) {
        if var old = stored[step.path] {
            guard isUpdate || step.method == .head && step.status == 200 else { return }
            let kept: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]
            let names = Set(fields.map(\.name)).subtracting(kept)
            old.fields.removeAll { names.contains($0.name) }
            for field in fields where names.contains(field.name) { old.fields.append(field) }
            stored[step.path] = old
        } else if step.method == .get {
            stored[step.path] = Stored(status: step.status, body: step.body, fields: fields)
        }
    }

    private func failure(
        of step: CacheSuiteStep,
        _ client: CachedClient,
        receive: @escaping @Sendable (HTTPResponse) -> Void,
        check: (Reply) -> String?
    ) async throws -> String? {
        let before = client.origin.count
        var request = HTTPDNSClient.Request(method: step.method, url: "http://one.test\(step.path)") {
            $0.decodesBody = false
            $0.redirects = .off
        }
        request.headerFields = HTTPFields(step.request.map { $0.field(at: Self.start) })
        request.onInterimResponse = { response in
            receive(HTTPResponse(status: response.status, headerFields: response.headerFields))
        }
        let reply: Reply
        do {
            let response = try await client.client.execute(request)
            let body = try await response.body.collect(upTo: .mebibytes(1))
            reply = Reply(
                status: response.status.code,
                source: response.cacheSource,
                body: String(decoding: body, as: UTF8.self),
                fields: response.headerFields
            )
        } catch {
            guard step.isClosed, step.source == .sent else { return "\(error)" }
            return arrivalFailure(of: step, client.origin.requests.dropFirst(before))
        }
        // A request in the background belongs to its step.
        try await until { client.cache.reads.leadCount == 0 }
        return arrivalFailure(of: step, client.origin.requests.dropFirst(before)) ?? check(reply)
    }

    /// Returns why the requests that reached the server are not those of a step.
    private func arrivalFailure(of step: CacheSuiteStep, _ arrivals: ArraySlice<TransferRequest>) -> String? {
        guard arrivals.count == step.arrivalCount else { return "\(arrivals.count) requests reached the server" }
        for arrival in arrivals {
            if arrival.method != step.method { return "the server received \(arrival.method)" }
            for field in step.sentFields.map({ $0.field(at: Self.start) }) {
                let values = Self.values(arrival.headerFields, field.name)
                if values != [Self.bytes(field)] { return "sent \(field.name): \(values)" }
            }
        }
        return nil
    }

    /// Returns why a response is not that of a step.
    /// - Parameters:
    ///   - sent: The fields that the server has sent last.
    ///   - stored: The stored response under the path of the step.
    private static func failure(of step: CacheSuiteStep, _ reply: Reply, sent: HTTPFields, _ stored: Stored?)
        -> String?
    {
        var expected: Stored
        let source: HTTPDNSClient.CacheSource
        switch step.source {
        case .sent: (source, expected) = (.miss, Stored(status: step.status, body: step.body, fields: sent))
        case .unavailable: (source, expected) = (.unavailable, Stored(status: 504, body: "", fields: [:]))
        // A condition of the client's own is answered for the client.
        case .etag where step.expectedStatus == 304, .lm where step.expectedStatus == 304:
            (source, expected) = (.miss, Stored(status: 304, body: "", fields: sent))
        case .hit, .stale, .etag, .lm:
            guard let stored else { return "nothing is stored" }
            source = step.source == .hit ? .hit : step.source == .stale ? .stale : .validated
            expected = Stored(status: stored.status, body: stored.body, fields: stableFields(stored.fields))
        }
        // Only reads pass the cache.
        let isRead = [.get, .head].contains(step.method)
        if reply.source != (isRead ? source : nil) { return "source \(reply.source?.description ?? "-")" }
        let status = step.expectedStatus ?? expected.status
        if reply.status != status { return "status \(reply.status)" }
        let text = step.expectedText ?? (status == 304 ? "" : expected.body)
        if reply.body != text { return "body \(reply.body)" }
        // These describe the part of a body, or no body.
        if status != expected.status {
            expected.fields.removeAll {
                [.contentLength, .contentRange, .contentEncoding, .contentType].contains($0.name)
            }
        }
        if [.hit, .stale].contains(source), UInt32(reply.fields[.age] ?? "") == nil { return "no age" }
        var others: Set<HTTPField.Name> = source == .miss ? [] : [.age]
        if status == 206 { others.formUnion([.contentLength, .contentRange]) }
        return failure(of: step, reply.fields, expected.fields, mayHave: others)
    }

    /// Returns why received fields are not the expected ones.
    /// - Parameter others: The names of fields that a response may have besides.
    private static func failure(
        of step: CacheSuiteStep,
        _ received: HTTPFields,
        _ expected: HTTPFields,
        mayHave others: Set<HTTPField.Name>
    ) -> String? {
        let named = HTTPFields(step.expectedFields.map { $0.field(at: start) })
        for name in Set(expected.map(\.name)).subtracting(named.map(\.name)).subtracting(step.missingFields)
        where values(received, name) != values(expected, name) {
            return "\(name): \(received[name] ?? "-"), not \(expected[name] ?? "-")"
        }
        for field in named where values(received, field.name) != [bytes(field)] {
            return "\(field.name): \(received[field.name] ?? "-")"
        }
        let known = others.union((expected + named).map(\.name)).union(step.missingFields)
        if let field = received.first(where: { !known.contains($0.name) }) { return "\(field.name) was not expected" }
        return step.missingFields.first { received.contains($0) }.map { "\($0) is there" }
    }

    /// Returns the fields that a cache must not change: those of the connection, of the age and of one request are left out.
    private static func stableFields(_ fields: HTTPFields) -> HTTPFields {
        let listed = fields[values: .connection].flatMap { value in
            value.lowercased().split(separator: ",").map { String($0.drop { $0 == " " }) }
        }
        let changed = Set(
            [
                "age", "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info",
                "proxy-authorization", "proxy-connection", "te", "transfer-encoding", "upgrade",
            ] + listed
        )
        var stable = fields
        stable.removeAll { changed.contains($0.name.canonicalName) }
        return stable
    }

    /// The values of a field, as bytes.
    private static func values(_ fields: HTTPFields, _ name: HTTPField.Name) -> [[UInt8]] {
        fields[fields: name].map(bytes)
    }

    private static func bytes(_ field: HTTPField) -> [UInt8] { field.withUnsafeBytesOfValue { Array($0) } }
}
