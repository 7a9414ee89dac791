// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Bodies whose own source stands still, which is nobody's limit but that of the whole call.
@Suite(
    "Stalled request bodies",
    .enabled(if: ServerRig.isAvailable([.nginx])),
    .serialized
)
struct StalledBodyTests {
    /// Where a source stops.
    enum Stall: CaseIterable {
        case atOnce, afterBytes
    }

    /// How the call ends.
    enum End: CaseIterable {
        case deadline, canceled
    }

    /// What is done with the source.
    enum Kind: CaseIterable {
        case plain, known, compressed, reported

        func body(_ source: StallingSource) -> HTTPDNSClient.Request.Body {
            switch self {
            case .plain: .stream(source)
            case .known: .stream(length: 1 << 20, source)
            case .compressed: .stream(source).compressed()
            case .reported: .stream(source).reportingProgress { _ in }
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let kind: Kind
        let stall: Stall
        let end: End
        let versions: HTTPDNSClient.AllowedVersions

        static let all = Kind.allCases.flatMap { kind in
            Stall.allCases.flatMap { stall in
                End.allCases.flatMap { end in
                    [.http1Only, .http2Only].map { Case(kind: kind, stall: stall, end: end, versions: $0) }
                }
            }
        }

        var testDescription: String { "\(kind), \(stall), \(end), \(versions)" }
    }

    /// The source is canceled, too.
    @Test("A call with a stalled body ends at its deadline or when canceled", arguments: Case.all)
    func ends(_ it: Case) async throws {
        // On a busy machine a short time may be over before the source has had its turn: then the same with a longer one.
        for seconds in [1, 8, 64] where try await endsAsSaid(it, total: .seconds(seconds)) { return }
        Issue.record("the source was not asked for a chunk within a minute")
    }

    /// Whether the source was asked: else the call was over before its body began.
    private func endsAsSaid(_ it: Case, total: Duration) async throws -> Bool {
        let rig = try await ServerRig.shared()
        let source = StallingSource(it.stall == .afterBytes ? [UInt8](repeating: 7, count: 100_000) : nil)
        var request = HTTPDNSClient.Request(method: .put, url: "https://one.test:\(rig.tlsPort)/stored/stalled")
        request.changeOptions {
            $0.versions = it.versions
            guard it.end == .deadline else { return }
            $0.timeouts.total = total
            $0.timeouts.responseHead = nil
        }
        request.body = it.kind.body(source)
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        settings.versions = it.versions
        return try await withClient(settings) { client in
            // What TLS takes on a busy machine is not of the deadline's time.
            try await client.get("https://one.test:\(rig.tlsPort)/health").text()
            let call = Task { [request] in _ = try await client.execute(request) }
            switch it.end {
            case .deadline:
                let error = try await refusal { try await call.value }
                #expect(error.code == .timedOut && error.isCallDeadline, "\(error)")
                #expect(error.limit == total && error.elapsed >= total, "\(error)")
                if !source.asked.isOpen { return false }
                #expect(error.phase == .send && error.requestMayHaveBeenSent, "\(error)")
            case .canceled:
                await source.asked.passage()
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            await source.ended.passage()
            return true
        }
    }
}

extension StalledBodyTests {
    @Test(
        "A body source that ignores cancellation delays neither the call nor the shutdown",
        arguments: [HTTPDNSClient.AllowedVersions.http1Only, .http2Only],
        End.allCases
    )
    func deaf(versions: HTTPDNSClient.AllowedVersions, end: End) async throws {
        // As above.
        for seconds in [1, 8, 64] where try await endsWhenDeaf(versions, end, total: .seconds(seconds)) { return }
        Issue.record("the source was not asked for a chunk within a minute")
    }

    /// Whether the source was asked: else the call was over before its body began.
    private func endsWhenDeaf(
        _ versions: HTTPDNSClient.AllowedVersions,
        _ end: End,
        total: Duration
    ) async throws -> Bool {
        let rig = try await ServerRig.shared()
        let (asked, done) = (Gate(), Gate())
        let source = AsyncStream<[UInt8]> {
            asked.open()
            await done.passage()
            return nil
        }
        var request = HTTPDNSClient.Request(method: .put, url: "https://one.test:\(rig.tlsPort)/stored/stalled")
        request.changeOptions {
            $0.versions = versions
            guard end == .deadline else { return }
            $0.timeouts.total = total
            $0.timeouts.responseHead = nil
        }
        request.body = .stream(source)
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        settings.versions = versions
        try await withClient(settings) { client in
            // What TLS takes on a busy machine is not of the deadline's time.
            try await client.get("https://one.test:\(rig.tlsPort)/health").text()
            let call = Task { [request] in _ = try await client.execute(request) }
            if end == .deadline {
                let error = try await refusal { try await call.value }
                #expect(error.code == .timedOut)
                if asked.isOpen { #expect(error.phase == .send) }
            } else {
                await asked.passage()
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
        }
        done.open()
        return asked.isOpen
    }
}

/// A chunk at most, and then nothing until it is canceled.
struct StallingSource: AsyncSequence, Sendable {
    let chunk: [UInt8]?
    /// Opened when it is asked for what it has not.
    let asked = Gate()
    /// Opened when it is canceled.
    let ended = Gate()

    init(_ chunk: [UInt8]?) { self.chunk = chunk }

    struct AsyncIterator: AsyncIteratorProtocol {
        var chunk: [UInt8]?
        let source: StallingSource

        mutating func next() async throws -> [UInt8]? {
            if let chunk = chunk.take() { return chunk }
            source.asked.open()
            do {
                try await Task.sleep(for: .seconds(600))
                return nil
            } catch {
                source.ended.open()
                throw error
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunk: chunk, source: self) }
}
