// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Testing

struct ErrorMappingTests {
    typealias Code = HTTPDNSClientError.Code
    typealias Phase = HTTPDNSClientError.Phase

    private static let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: 443)

    private func error(from failure: TransferFailure) async throws -> HTTPDNSClientError {
        let rig = try Rig(wire: ScriptedWire { _, _ in throw failure }) { $0.timeouts.total = .seconds(60) }
        return try #require(
            await clientError { try await rig.client.get("https://user:secret@one.test/?token=secret") }
        )
    }

    @Test(
        "Each failure of a transfer has its code and phase, and one line without secrets",
        arguments: [
            (TransferFailure.Code.invalidRequest, TransferFailure.Phase.queue, Code.invalidRequest, Phase.request),
            (.trustRootsMissing, .tls, .configuration, .configuration),
            (.trustUnsupported, .tls, .configuration, .configuration),
            (.connectFailed, .connect, .connectFailed, .connect), (.tlsFailed, .tls, .connectFailed, .tls),
            (.clientCertificateRefused, .tls, .connectFailed, .tls),
            (.certificateRefused, .tls, .certificateRefused, .tls), (.wrongPeer, .connect, .connectFailed, .connect),
            (.lookupDenied, .connect, .connectFailed, .connect), (.timedOut, .queue, .timedOut, .queue),
            (.timedOut, .connect, .timedOut, .connect), (.timedOut, .tls, .timedOut, .tls),
            (.timedOut, .send, .timedOut, .send), (.timedOut, .firstByte, .timedOut, .firstByte),
            (.timedOut, .body, .timedOut, .body), (.timedOut, .total, .timedOut, .total),
            (.connectionLost, .firstByte, .connectionLost, .firstByte),
            (.protocolViolation, .firstByte, .protocolViolation, .firstByte),
            (.responseTooLarge, .body, .responseTooLarge, .body),
            (.requestBodyFailed, .send, .requestBodyFailed, .send),
            (.bodyConsumedTwice, .body, .bodyConsumedTwice, .body), (.shutDown, .queue, .shutDown, .queue),
            (.transport, .send, .transportFailed, .send),
            (.clientCertificateUnusable, .tls, .configuration, .configuration),
            (.tlsSettingsRefused, .tls, .configuration, .configuration),
            (.limitReached, .queue, .limitReached, .queue),
        ]
    )
    func codes(from: TransferFailure.Code, transferPhase: TransferFailure.Phase, code: Code, phase: Phase) async throws
    {
        var failure = TransferFailure(code: from, phase: transferPhase, message: "what happened")
        failure.endpoint = Self.endpoint
        failure.elapsed = .milliseconds(12)
        let error = try await error(from: failure)
        #expect(error.code == code && error.phase == phase)
        #expect(error.host == "one.test")
        let text = phase == .total ? "no response within the call's limit of 60 s" : "what happened"
        #expect(error.message.contains("one.test:443") && error.message.contains(text))
        #expect(error.attempts.map(\.description) == ["203.0.113.1:443 \(phase): \(text) (12 ms)"])
        #expect(!error.description.contains("secret") && !error.description.contains { $0.isNewline })
        #expect(error.shortDescription == "\(code)/\(phase)")
        #expect(error.underlying is TransferFailure)
    }

    @Test(
        "A refused certificate comes with advice for its reason",
        arguments: [
            ("SSL certificate problem: certificate has expired", "renew"),
            ("SSL certificate problem: certificate is not yet valid", "clock"),
            ("SSL certificate problem: unable to get local issuer certificate", "trust.roots"),
            ("SSL certificate problem: self-signed certificate", "trust.roots"),
            ("certificate is for other.test", "the address belongs to another server"),
        ]
    )
    func certificateHint(message: String, advice: String) async throws {
        let error = try await error(from: TransferFailure(code: .certificateRefused, phase: .tls, message: message))
        #expect(error.hint?.contains(advice) == true, "\(error)")
        #expect((error.hint?.contains("address") == true) == advice.contains("address"))
    }

    @Test("The transfer decides whether the request may have been sent", arguments: [true, false])
    func mayHaveBeenSent(sent: Bool) async throws {
        var failure = TransferFailure(code: .connectionLost, phase: .send, message: "lost")
        failure.requestMayHaveBeenSent = sent
        let error = try await error(from: failure)
        #expect(error.requestMayHaveBeenSent == sent)
        #expect(error.attempts.isEmpty)
    }

    @Test("A time-out has the limit of its phase, or of the call")
    func limits() async throws {
        var failure = TransferFailure(code: .timedOut, phase: .connect, message: "late")
        failure.limit = .seconds(5)
        #expect(try await error(from: failure).limit == .seconds(5))
        failure = TransferFailure(code: .timedOut, phase: .total, message: "late")
        let total = try await error(from: failure)
        #expect(total.limit == .seconds(60))
        #expect(total.message.contains("within the call's limit of 60 s") && !total.message.contains("late"))
        #expect(total.elapsed > .zero)
        #expect(total.hint?.contains("timeouts.total") == true)
    }

    @Test(
        "The call's limit has one text in message and attempt, by the phase it ended",
        arguments: [
            (TransferFailure.Phase.connect, "connect: no connection"), (.tls, "tls: the TLS handshake was not done"),
            (.send, "send: the request was not sent"), (.firstByte, "first-byte: no response"),
            (.body, "body: the response was not complete"),
        ]
    )
    func callLimit(reached: TransferFailure.Phase, text: String) async throws {
        var failure = TransferFailure(code: .timedOut, phase: .total, message: "the rest of the time")
        (failure.reached, failure.endpoint, failure.elapsed) = (reached, Self.endpoint, .milliseconds(998))
        failure.attempts = [
            TransferAttempt(
                endpoint: Self.endpoint,
                phase: .total,
                code: .timedOut,
                message: failure.message,
                elapsed: failure.elapsed
            )
        ]
        let error = try await error(from: failure)
        let whole = "203.0.113.1:443 \(text) within the call's limit of 60 s (998 ms)"
        #expect(
            error.message.hasSuffix(" failed: \(whole)") && error.attempts.map(\.description) == [whole],
            "\(error)"
        )
    }

    /// It is also the underlying error.
    @Test("The cause of a failed body stream is reported on one line")
    func cause() async throws {
        struct Full: Error, CustomStringConvertible {
            let description = "disk\nfull"
        }
        var failure = TransferFailure(code: .requestBodyFailed, phase: .send, message: "the stream failed")
        failure.cause = TransferFailure.Cause(Full())
        let told = try await error(from: failure)
        #expect(told.message.hasSuffix("the stream failed: disk\\nfull") && told.underlying is Full)
    }

    @Test("An unknown name, a refused address and a failed provider are distinguished")
    func resolving() async throws {
        let rig = try Rig { configuration in
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("meta.test"): .addresses(["169.254.169.254"])]
        }
        rig.provider.answer(
            .failure(HTTPDNSProviderError(code: .httpStatus, message: "503")),
            for: try HTTPDNSName("down.test")
        )
        rig.provider.answer(
            .answer(.addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .seconds(5))),
            for: try HTTPDNSName("inside.test")
        )
        for (host, code, phase) in [
            ("gone.test", Code.resolveFailed, Phase.resolve), ("down.test", .resolveFailed, .resolve),
            ("meta.test", .policyRefused, .policy), ("inside.test", .policyRefused, .policy),
        ] {
            let error = await clientError { try await rig.client.get("https://\(host)/") }
            #expect(error?.code == code && error?.phase == phase, "\(host)")
            #expect(error?.host == host)
            #expect(error?.requestMayHaveBeenSent == false)
            #expect(error?.underlying is HTTPDNSResolver.Error)
        }
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A silent provider ends in a time-out of resolving")
    func resolveTimeout() async throws {
        let rig = try Rig { $0.timeouts.responseHead = nil }
        rig.provider.answer(.silence, for: try HTTPDNSName("one.test"))
        async let failed = clientError { try await rig.client.get("https://one.test/") }
        await rig.provider.queries(atLeast: 1)
        await rig.clock.sleepers(atLeast: 1)
        while rig.clock.sleeperCount > 0 {
            rig.clock.advance(by: .seconds(3))
            await Task.yield()
        }
        let error = await failed
        #expect(error?.code == .timedOut || error?.code == .resolveFailed)
        #expect(error?.phase == .resolve)
    }

    @Test("A deadline that has passed is a time-out without a query")
    func passedDeadline() async throws {
        let rig = try Rig()
        let error = await clientError { try await rig.client.get("https://one.test/") { $0.timeouts.total = .zero } }
        #expect(error?.code == .timedOut && error?.phase == .total)
        #expect(rig.provider.queries.isEmpty && rig.wire.requests.isEmpty)
    }

    @Test("Impossible time limits are refused when the client is made")
    func configuration() async throws {
        var bad: [HTTPDNSClient.Configuration] = []
        for change: (inout HTTPDNSClient.Configuration) -> Void in [
            { $0.timeouts.connect = .zero }, { $0.timeouts.total = .seconds(-1) }, { $0.connections.maximumIdle = 0 },
            { $0.retryBudget.percent = -1 }, { $0.retryBudget.perSecond = 100_001 },
            { $0.trustRoots = .file("/nowhere/ca.pem") }, { $0.maximumRequestsInFlight = 0 },
            { $0.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: "/nowhere/client.pem") },
            { $0.resolver.routes = [HTTPDNSRoute(.any, .providers(["nobody"], fallback: .off))] },
        ] {
            var configuration = HTTPDNSClient.Configuration()
            change(&configuration)
            bad.append(configuration)
        }
        for configuration in bad {
            let error = await clientError { try await HTTPDNSClient(configuration: configuration) }
            #expect(error?.code == .configuration && error?.phase == .configuration)
        }
        #expect(bad.count == 9)
    }
}
