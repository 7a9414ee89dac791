// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Glibc
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

/// When files are looked at, and what a bad one costs, on a clock that stands still.
@Suite("Changed certificates, on a manual clock", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl])))
struct TrustedTransportTests {
    private let clock = HTTPDNSManualClock()
    private let log = RecordedLog()

    private func transport(
        _ folder: TemporaryFolder,
        _ level: Logger.Level = .warning
    ) async throws -> TrustedTransport {
        let rig = try await ServerRig.shared()
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        var configuration = TransportConfiguration()
        configuration.trust.roots = .file(folder.path("ca.pem"))
        configuration.logger = log.logger(level)
        return TrustedTransport(configuration, clock: clock)
    }

    /// Whether a new connection was made for it.
    private func ask(_ transport: TrustedTransport, _ target: String = "/health") async throws -> Bool {
        let rig = try await ServerRig.shared()
        let request = TransferRequest(
            url: try ParsedURL("https://one.test:\(rig.tlsPort)\(target)"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)]
        )
        let response = try await transport.execute(request)
        for try await _ in response.body {}
        return !response.reusedConnection
    }

    /// A change makes new connections, and nothing else does.
    @Test("Trust files are checked once a second, and after a pause before the request")
    func looks() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder)
        #expect(try await ask(transport))
        clock.advance(by: .seconds(5))
        #expect(try await !ask(transport) && transport.generation == 1)
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        #expect(try await !ask(transport) && transport.generation == 1)
        clock.advance(by: .seconds(10))
        #expect(try await ask(transport) && transport.generation == 2)
        clock.advance(by: .seconds(5))
        #expect(try await !ask(transport) && transport.generation == 2)
        await transport.shutdown()
    }

    /// It is seen several times. The next change is tried again.
    @Test("A broken file changes nothing and is reported once")
    func broken() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder)
        #expect(try await ask(transport))
        for (round, text) in ["half a PEM", "another half"].enumerated() {
            try folder.replace("ca.pem", with: text)
            for _ in 0..<3 {
                clock.advance(by: .seconds(10))
                #expect(try await !ask(transport))
            }
            #expect(log.lines.count == round + 1)
        }
        #expect(log.lines.allSatisfy { $0.contains("is not PEM") } && transport.generation == 1)
        let failure = await #expect(throws: TransferFailure.self) { try await transport.reload() }
        #expect(failure?.code == .trustRootsMissing)
        // Each caller gets the error; the log already has it.
        #expect(log.lines.count == 2)
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        clock.advance(by: .seconds(10))
        #expect(try await ask(transport) && transport.generation == 2 && log.lines.count == 2)
        await transport.shutdown()
    }

    /// Each loop parses the authorities for itself, when it makes its first connection.
    @Test("A broken CA file fails no connection of a loop that starts later")
    func laterLoops() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        var configuration = TransportConfiguration()
        configuration.trust.roots = .file(folder.path("ca.pem"))
        (configuration.loops, configuration.takesLoopsInTurn) = (4, true)
        let transport = TrustedTransport(configuration, clock: clock)
        #expect(try await ask(transport))
        try folder.replace("ca.pem", with: "junk")
        clock.advance(by: .seconds(10))
        for _ in 0..<3 { #expect(try await ask(transport), "a connection of another loop") }
        await transport.shutdown()
    }

    /// A FIFO takes the place of a file system that hangs. Nothing is sent to the server.
    @Test("A file system that hangs ends no request later than its limits", arguments: [false, true])
    func hangs(isCanceled: Bool) async throws {
        // A busy machine may take one of them as long as the read.
        for _ in 0..<3 where try await endsBeforeRead(isCanceled) { return }
        Issue.record("the request waited for the file system")
    }

    private func endsBeforeRead(_ isCanceled: Bool) async throws -> Bool {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.path("ca.pem"), 0o600) == 0)
        var configuration = TransportConfiguration()
        configuration.trust.roots = .file(folder.path("ca.pem"))
        let transport = TrustedTransport(configuration, clock: clock)
        var request = TransferRequest(
            url: try ParsedURL("https://one.test:\(rig.tlsPort)/"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)]
        )
        let start = SystemTimeSource().now()
        if !isCanceled { request.limits.deadline = start + .milliseconds(50) }
        let task = Task { [request] in try await transport.execute(request) }
        if isCanceled {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        } else {
            let failure = await #expect(throws: TransferFailure.self) { try await task.value }
            #expect(failure?.code == .timedOut)
        }
        // A read of the pipe gives up after 30 s.
        let elapsed = SystemTimeSource().now() - start
        await transport.shutdown()
        return elapsed < .seconds(20)
    }

    /// The clock of the checks stands still, so that only the request's own limit ends the wait.
    @Test("A check after a pause, of files that hang, delays no request beyond its limits")
    func hangsAfterPause() async throws {
        // A read of the pipe gives up after 30 s, and a busy machine may take one request as long.
        for _ in 0..<3 where try await endsBeforeCheck() { return }
        Issue.record("the request waited for the check")
    }

    private func endsBeforeCheck() async throws -> Bool {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder)
        #expect(try await ask(transport))
        try FileManager.default.removeItem(atPath: folder.path("ca.pem"))
        try #require(mkfifo(folder.path("ca.pem"), 0o600) == 0)
        clock.advance(by: .seconds(10))
        var request = TransferRequest(
            url: try ParsedURL("https://one.test:\(rig.tlsPort)/"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)]
        )
        let start = SystemTimeSource().now()
        request.limits.deadline = start + .milliseconds(50)
        let failure = await #expect(throws: TransferFailure.self) { try await transport.execute(request) }
        let elapsed = SystemTimeSource().now() - start
        #expect(failure?.code == .timedOut)
        await transport.shutdown()
        return elapsed < .seconds(20)
    }

    /// The next request would find a check that never began, and never ends.
    @Test("A request that is canceled before its check leaves the check to others")
    func canceledAfterPause() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder)
        #expect(try await ask(transport))
        clock.advance(by: .seconds(10))
        let request = TransferRequest(
            url: try ParsedURL("https://one.test:\(rig.tlsPort)/"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)]
        )
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await transport.execute(request)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        // On a busy machine a check can take longer than the second that a request waits for it.
        while transport.generation == 1 {
            clock.advance(by: .seconds(10))
            _ = try await ask(transport)
        }
        #expect(transport.generation == 2)
        await transport.shutdown()
    }

    @Test("The first reading of files is not logged, and a changed file is")
    func firstReading() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder, .info)
        try await transport.prepare()
        #expect(log.lines == [])
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        try await transport.reload()
        #expect(log.lines.count == 1 && log.lines.first?.contains("certificates were read") == true)
        await transport.shutdown()
        let unprepared = try await self.transport(folder, .info)
        #expect(try await ask(unprepared))
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        clock.advance(by: .seconds(10))
        #expect(try await ask(unprepared) && log.lines.count == 2)
        await unprepared.shutdown()
    }

    @Test("The loop of replaced files ends with its last transfer")
    func oldLoopEnds() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let transport = try await transport(folder)
        let request = TransferRequest(
            url: try ParsedURL("https://one.test:\(rig.tlsPort)/stall-body/0.3"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)]
        )
        let inFlight = try await transport.execute(request)
        try folder.copy(rig.certificateFile("ca.pem"), to: "ca.pem")
        try await transport.reload()
        #expect(transport.loops == 2)
        var body: [UInt8] = []
        for try await chunk in inFlight.body { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "begin\nend\n")
        let deadline = ContinuousClock.now + .seconds(60)
        while transport.loops > 1, ContinuousClock.now < deadline, !Task.isCancelled { await Task.yield() }
        #expect(transport.loops == 1)
        await transport.shutdown()
    }
}
