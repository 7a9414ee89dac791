// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Servers behind TLS and HTTP/2, which the modeled sockets cannot be: what a transport would return is drawn here.
// @unchecked: the schedule lets one task of the process run at a time.
final class ModelWire: HopSending, @unchecked Sendable {
    /// The long pauses of hops in flight.
    private var pauses: [Int: Task<Void, any Error>] = [:]
    private var lastPause = 0
    private var isClosed = false

    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        if isStale() { return nil }
        let stage = currentStage
        var request = request
        let kept = KeptPermit(request.permit)
        request.permit = nil
        let hop = request
        let received = ReceivedRequest(hop)
        let number = stage.next("hop \(received.target)")
        var draw = Draw(stage.seed, "hop \(received.target) \(number)")
        let endpoint = hop.endpoints[0]
        if hop.stopsBeforeSending {
            try await pass(draw.time(.microseconds(100), .milliseconds(8)), hop, .connect)
            throw failure(.connectOnly, .connect, "connected", at: endpoint)
        }
        // A proxy that gets the name resolves it itself.
        let isForwarded = hop.egressPath?.proxy.map { $0.endpoint == nil } ?? false
        for endpoint in hop.endpoints { stage.check(received, at: isForwarded ? nil : endpoint.address) }
        stage.checkDefaultField(hop.headerFields[.settings], of: received)
        try await pass(draw.time(.microseconds(100), .milliseconds(8)), hop, .connect)
        // After a redirect it happens more often: what was sent before must not count as sent then.
        let unconnected = received.depth > 0 ? 250 : 30
        let fate = draw.below(1000)
        let isUnsent = fate < unconnected || (unconnected + 10..<unconnected + 25).contains(fate)
        stage.tries[received.target] = (stage.tries[received.target].map { $0.count + 1 } ?? 1, isUnsent)
        switch fate - unconnected {
        case ..<0:
            stage.cover("hop not connected")
            throw failure(.connectFailed, .connect, "nothing listens", at: endpoint)
        case ..<10:
            stage.cover("hop with another name")
            throw failure(.certificateRefused, .tls, "the certificate has another name", at: endpoint)
        case ..<25:
            stage.cover("hop refused by GOAWAY")
            throw failure(.connectionLost, .firstByte, "the server refused the stream", at: endpoint)
        case ..<40:
            stage.cover("hop reset")
            stage.noteArrival(of: received, on: -number)
            throw failure(.connectionLost, .firstByte, "the stream was reset", at: endpoint, isSent: true)
        default: break
        }
        stage.noteArrival(of: received, on: -number)
        stage.requestCount += 1
        stage.note("hop \(number) \(received.method) \(received.target) at \(endpoint.address)")
        let response = ModelResponse(to: received, in: stage)
        stage.note("hop \(number) \(received.target): \(response.status), \(response.extent), \(response.end)")
        try await pass(response.pause, hop, .firstByte, isSent: true)
        guard response.extent == .partOfBody || response.extent == .all else {
            if response.end == .open { try await pass(.seconds(3600), hop, .firstByte, isSent: true) }
            throw failure(.connectionLost, .firstByte, "the connection ended", at: endpoint, isSent: true)
        }
        var fields = HTTPFields()
        for field in response.fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        let status = HTTPResponse.Status(code: Int(response.status.prefix(3)) ?? 0)
        if response.pieces.isEmpty { kept.permit = nil }
        return HopAnswer(
            TransferHead(
                head: ResponseHead(HTTPResponse(status: status, headerFields: fields)),
                version: .http2,
                endpoint: endpoint,
                reusedConnection: number > 0,
                timings: HTTPDNSClient.Exchange.Timings()
            ),
            .chunks(ModelBody(wire: self, response: response, hop: hop, endpoint: endpoint, kept: kept))
        )
    }

    func shutdown(drainingFor duration: Duration) async {
        if !pauses.isEmpty { try? await Task.sleep(for: duration) }
        isClosed = true
        for pause in pauses.values { pause.cancel() }
    }

    private func sleep(for pause: Duration) async throws {
        let shutDown = TransferFailure(code: .shutDown, phase: .queue, message: "the wire is shut down")
        guard !isClosed else { throw shutDown }
        // No shutdown is shorter.
        guard pause > .milliseconds(500) else { return try await Task.sleep(for: pause) }
        lastPause += 1
        let (number, task) = (lastPause, Task { try await Task.sleep(for: pause) })
        pauses[number] = task
        defer { pauses[number] = nil }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw isClosed ? shutDown : error
        }
    }

    /// Lets time pass for a hop, at most until its next limit.
    /// - Throws: The failure at that limit; `CancellationError`.
    fileprivate func pass(
        _ pause: Duration,
        _ hop: TransferRequest,
        _ phase: TransferFailure.Phase,
        isSent: Bool = false
    ) async throws {
        let now = SystemTimeSource().now()
        var limits: [(at: MonotonicTime, phase: TransferFailure.Phase)] = []
        if let deadline = hop.limits.deadline { limits.append((deadline, .total)) }
        if phase != .body, let deadline = hop.limits.headDeadline { limits.append((deadline, .head)) }
        if phase == .firstByte, let limit = hop.limits.firstByte { limits.append((now + limit, .firstByte)) }
        if phase == .body, let limit = hop.limits.idle { limits.append((now + limit, .body)) }
        guard let first = limits.min(by: { $0.at < $1.at }), first.at < now + pause else {
            return try await sleep(for: pause)
        }
        try await sleep(for: first.at - now)
        throw failure(.timedOut, first.phase, "no time is left", at: hop.endpoints[0], isSent: isSent)
    }
}

private func failure(
    _ code: TransferFailure.Code,
    _ phase: TransferFailure.Phase,
    _ message: String,
    at endpoint: HTTPDNSEndpoint,
    isSent: Bool = false
) -> TransferFailure {
    var failure = TransferFailure(code: code, phase: phase, message: message)
    failure.endpoint = endpoint
    failure.requestMayHaveBeenSent = isSent
    return failure
}

/// The permit of a hop, which a transfer keeps until it has ended on the wire.
// @unchecked: the schedule lets one task of the process run at a time.
private final class KeptPermit: @unchecked Sendable {
    var permit: (any AnyObject & Sendable)?

    init(_ permit: (any AnyObject & Sendable)?) { self.permit = permit }
}

/// The body of a modeled response. It keeps the hop's permit until its end, or until it is dropped.
private struct ModelBody: AsyncSequence, Sendable {
    let wire: ModelWire
    let response: ModelResponse
    let hop: TransferRequest
    let endpoint: HTTPDNSEndpoint
    let kept: KeptPermit

    struct AsyncIterator: AsyncIteratorProtocol {
        let body: ModelBody
        var index = 0

        mutating func next() async throws -> [UInt8]? {
            let response = body.response
            guard index < response.pieces.count else { return nil }
            let piece = response.pieces[index]
            index += 1
            defer { if index == response.pieces.count || response.extent == .partOfBody { body.kept.permit = nil } }
            try await body.wire.pass(piece.pause, body.hop, .body, isSent: true)
            guard response.extent == .partOfBody else { return piece.bytes }
            throw failure(.connectionLost, .body, "the connection ended", at: body.endpoint, isSent: true)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }
}

extension ReceivedRequest {
    /// The request as the server of a modeled hop reads it.
    init(_ hop: TransferRequest) {
        self.init(method: hop.method.rawValue, target: hop.url.target)
        // With a port where that is not the default one.
        host = String((hop.hostHeader ?? hop.url.hostText).prefix { $0 != ":" })
        hasOtherPort = hop.url.port != 443
        authorization = hop.headerFields[.authorization]
        cookies = hop.headerFields[values: .cookie].flatMap { $0.split(separator: ";") }.map {
            String($0.drop { $0 == " " })
        }
    }
}
