// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The sender of hops by a transport of the program's own, with the limits that libcurl's loop holds otherwise.
final class TransportAdapter: HopSending {
    private let transport: any HTTPDNSTransport
    private let maximum: Int
    /// The hops in flight. It is closed by the shutdown.
    private let gate = CallGate()
    /// Closed at the end of the shutdown's draining time: nothing waits for the transport any longer.
    private let cut = CallGate()
    /// The shutdown of the transport, which each caller of ``shutdown(drainingFor:)`` waits for.
    private let ending = Lock<Task<Void, Never>?>(nil)

    init(_ transport: any HTTPDNSTransport, maximum: Int) {
        self.transport = transport
        self.maximum = maximum
    }

    /// Refuses settings that only libcurl's transport has.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    static func check(_ configuration: HTTPDNSClient.Configuration) throws(HTTPDNSClientError) {
        guard configuration.trust == HTTPDNSTrust(), configuration.trustByHost.isEmpty else {
            throw HTTPDNSClientError.configuration(
                "trust settings have no effect on a transport of the program's own",
                hint: "leave trust and trustByHost out; the transport checks certificates for serverName of each hop"
            )
        }
        if configuration.options.proxy != .off || configuration.unixSocket != nil || configuration.localSource != nil {
            throw unsupported
        }
    }

    private static var unsupported: HTTPDNSClientError {
        HTTPDNSClientError.configuration(
            "proxies, Unix sockets, local addresses and connections made in advance are of libcurl's transport alone",
            hint: "leave them out, or create the client without a transport of its own"
        )
    }

    var transfersInFlight: Int { gate.count }

    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        if isStale() { return nil }
        guard request.egressPath == nil, !request.stopsBeforeSending else { throw TransportAdapter.unsupported }
        let number = try gate.enter()
        let place = HopPlace(gate, permit: request.permit)
        guard number <= maximum else {
            throw TransferFailure(
                code: .limitReached,
                phase: .queue,
                message: "\(maximum) requests are in flight already, which is the client's limit"
            )
        }
        let bodyEnd = CallGate()
        let (hop, limits) = (HTTPDNSHop(request, bodyEnd), request.limits)
        var wait = TransportWait(cut: cut, phase: .firstByte, total: limits.deadline)
        let start = wait.clock.now()
        if hop.body.length == 0 {
            wait.limit(limits.firstByte.map { start + $0 }, as: .firstByte)
            wait.limit(limits.headDeadline, as: .head)
        } else if let limit = [limits.firstByte, limits.headAfterBody].compactMap(\.self).min() {
            wait.clock.body = (bodyEnd, limit)
        }
        do {
            let response = try await wait.value { [transport] in try await transport.send(hop) }
            let status = response.head.status.code
            // Responses to these have no body, whatever the transport gives (RFC 9110 section 6.4.1).
            let hasNone = status == 204 || status == 304 || hop.method == .head
            return HopAnswer(
                TransferHead(
                    head: ResponseHead(response.head),
                    version: response.version,
                    endpoint: response.endpoint,
                    reusedConnection: false,
                    timings: HTTPDNSClient.Exchange.Timings(firstByte: wait.clock.now() - start)
                ),
                .chunks(
                    hasNone
                        ? AsyncThrowingStream([])
                        : LimitedChunks(
                            ChunkReader(response.body, place, until: limits.deadline),
                            cut: cut,
                            limits: limits,
                            isCoded: request.decodes && response.head.headerFields.contains(.contentEncoding)
                        )
                )
            )
        } catch var failure as TransferFailure where failure.code == .connectFailed {
            let message = failure.message
            failure.attempts = hop.endpoints.map {
                TransferAttempt(endpoint: $0, phase: .connect, code: .connectFailed, message: message, elapsed: .zero)
            }
            failure.endpoint = hop.endpoints.last
            throw failure
        }
    }

    func shutdown(drainingFor duration: Duration) async {
        gate.close()
        let clock = SystemTimeSource()
        if duration > .zero { await gate.awaitEmpty(until: clock.now() + duration, on: clock) }
        cut.close()
        let (end, isFirst) = ending.withLock { [transport] ending in
            if let ending { return (ending, false) }
            let end = Task { await transport.shutdown() }
            ending = end
            return (end, true)
        }
        // The caller that has begun it may cancel it; those that wait with it may not.
        await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            if isFirst { end.cancel() }
        }
    }
}

extension HTTPDNSHop {
    /// - Parameter bodyEnd: It is closed when the transport has read the whole body.
    fileprivate init(_ request: borrowing TransferRequest, _ bodyEnd: CallGate) {
        let url = request.url
        method = request.method
        self.url = "\(url.scheme.rawValue)://\(url.authority)\(url.target)"
        serverName = url.hostText
        authority = request.hostHeader ?? url.authority
        headerFields = request.headerFields
        if request.decodes, !headerFields.contains(.acceptEncoding) {
            headerFields[.acceptEncoding] = TransferRequest.acceptedCodings
        }
        let (length, chunks): (Int64?, (any AsyncSequence<[UInt8], any Error> & Sendable)?) =
            switch request.body {
            case .none: (0, nil)
            case .bytes(let bytes): (Int64(bytes.count), AsyncThrowingStream(bytes))
            case .stream(let length, let chunks): (length, chunks)
            }
        body = Body(length: length, chunks: chunks) { [report = request.uploadProgress] bytes, isComplete in
            report?(bytes, isComplete)
            if isComplete || bytes == length { bodyEnd.close() }
        }
        endpoints = request.endpoints
        versions = request.versions
    }
}

/// The place of a hop among those in flight, with the permit of its connection, until its body has ended or is dropped.
private final class HopPlace: Sendable {
    private struct Held: Sendable {
        var permit: (any AnyObject & Sendable)?
        /// The task that ends the hop at the deadline of its call.
        var timer: Task<Void, Never>?
    }

    private let gate: CallGate
    /// Nil once the hop has ended.
    private let held: Lock<Held?>

    /// - Parameter gate: A gate that was entered for it.
    init(_ gate: CallGate, permit: (any AnyObject & Sendable)?) {
        self.gate = gate
        held = Lock(Held(permit: permit))
    }

    deinit { leave() }

    func keep(_ timer: Task<Void, Never>) { held.withLock { $0?.timer = timer } }

    func leave() {
        guard let held = held.withLock({ $0.take() }) else { return }
        held.timer?.cancel()
        _ = consume held
        gate.leave()
    }
}

/// A clock whose sleepers also wake at the end of the draining time, and some time after the end of a request's body.
private struct TransportClock: TimeSource {
    let cut: CallGate
    /// The end of the body, and the time from it until the sleepers wake; nil for a request without a body.
    var body: (end: CallGate, limit: Duration)?

    func now() -> MonotonicTime { SystemTimeSource().now() }

    func sleep(until deadline: MonotonicTime) async throws {
        var deadline = deadline
        if let body, !(try await body.end.sleep(until: deadline, on: TransportClock(cut: cut))) {
            deadline = min(deadline, now() + body.limit)
        }
        _ = try await cut.sleep(until: deadline, on: SystemTimeSource())
    }
}

/// The wait for one step of a transport, which its limits and the shutdown end whatever the transport does.
private struct TransportWait: Sendable {
    var clock: TransportClock
    private let phase: TransferFailure.Phase
    /// The first limit, and what it limits.
    private var end: (time: MonotonicTime, phase: TransferFailure.Phase)

    /// - Parameters:
    ///   - phase: The phase of the step.
    ///   - total: The deadline of the call.
    init(cut: CallGate, phase: TransferFailure.Phase, total: MonotonicTime?) {
        clock = TransportClock(cut: cut)
        self.phase = phase
        end = (total ?? MonotonicTime(nanoseconds: .max), .total)
    }

    /// Adds a limit.
    mutating func limit(_ time: MonotonicTime?, as phase: TransferFailure.Phase) {
        if let time, time < end.time { end = (time, phase) }
    }

    /// Runs a step of the transport until the first limit, and waits no longer for it.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    func value<Success: Sendable>(_ step: @escaping @Sendable () async throws -> Success) async throws -> Success {
        var failure: TransferFailure
        switch await LimitedWork.run(until: end.time, on: clock, operation: step) {
        case .succeeded(let result): return result
        case .canceled: throw CancellationError()
        case .failed(let error as HTTPDNSTransportError):
            failure = TransferFailure(
                code: error.isUnsent ? .connectFailed : .connectionLost,
                phase: error.isUnsent ? .connect : phase,
                message: error.message
            )
            failure.requestMayHaveBeenSent = !error.isUnsent
        case .failed(let error as TransferFailure): failure = error
        case .failed(let error):
            failure = TransferFailure(code: .connectionLost, phase: phase, message: "the transport failed")
            failure.cause = TransferFailure.Cause(error)
            failure.requestMayHaveBeenSent = true
        case .timedOut where clock.cut.isClosed:
            failure = TransferFailure.shutDown
            failure.requestMayHaveBeenSent = true
        case .timedOut:
            // Before the limit of the step, its clock woke it for the body.
            failure = TransferFailure.slow(clock.now() < end.time ? phase : end.phase)
        }
        throw failure
    }
}

extension TransferFailure {
    /// Returns the failure of a transport that has exceeded a limit.
    fileprivate static func slow(_ phase: Phase) -> TransferFailure {
        var failure = TransferFailure(code: .timedOut, phase: phase, message: "the transport was too slow")
        failure.requestMayHaveBeenSent = true
        return failure
    }
}

/// The body of a response by a transport of the program, within the limits of its call.
private struct LimitedChunks: AsyncSequence, Sendable {
    private let reader: ChunkReader
    private let cut: CallGate
    private let limits: TransferLimits
    /// The most bytes as the transport gives them.
    private let maximum: Int?

    init(_ reader: ChunkReader, cut: CallGate, limits: TransferLimits, isCoded: Bool) {
        self.reader = reader
        self.cut = cut
        self.limits = limits
        maximum = limits.maximumResponseBytes.map { isCoded ? ContentDecoder.codedLimit($0) : $0 }
    }

    /// The use of the reader by an iterator, with which the hop ends, also when the response is kept.
    private final class Reading: Sendable {
        let reader: ChunkReader

        init(_ reader: ChunkReader) { self.reader = reader }

        deinit { end() }

        func end() {
            reader.place.leave()
            // Without waiting for it: a read that was abandoned may still have the reader.
            CallWork.detached { [reader] in await reader.end() }
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private let chunks: LimitedChunks
        private let reading: Reading
        private var count = 0
        private var hasEnded = false

        init(_ chunks: LimitedChunks) {
            self.chunks = chunks
            reading = Reading(chunks.reader)
        }

        mutating func next() async throws -> [UInt8]? {
            if hasEnded { return nil }
            hasEnded = true
            var wait = TransportWait(cut: chunks.cut, phase: .body, total: chunks.limits.deadline)
            wait.limit(chunks.limits.idle.map { wait.clock.now() + $0 }, as: .body)
            do {
                guard let chunk = try await wait.value({ [reader = chunks.reader] in try await reader.next() }) else {
                    return nil
                }
                count += chunk.count
                if let maximum = chunks.maximum, count > maximum {
                    throw TransferFailure.tooLong(chunks.limits.maximumResponseBytes ?? maximum)
                }
                hasEnded = false
                return chunk
            } catch {
                reading.end()
                throw error
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// The reader of a body, whose reads can be abandoned at a time limit. The hop ends with the body, with the deadline of its call, or
/// when the reader is dropped: a response that is kept and never read holds its connection's permit no longer.
private actor ChunkReader {
    private var base: (any AsyncSequence<[UInt8], any Error> & Sendable)?
    private var iterator: (any AsyncIteratorProtocol<[UInt8], any Error>)?
    let place: HopPlace

    init(_ base: any AsyncSequence<[UInt8], any Error> & Sendable, _ place: HopPlace, until deadline: MonotonicTime?) {
        self.base = base
        self.place = place
        guard let deadline else { return }
        place.keep(
            CallWork.detached { [weak self] in
                if (try? await SystemTimeSource().sleep(until: deadline)) != nil { await self?.end() }
            }
        )
    }

    deinit { place.leave() }

    /// - Throws: ``TransferFailure`` after the deadline.
    func next() async throws -> [UInt8]? {
        // Taken out while it is in use: a second read begins only after the first one has ended.
        guard var current = iterator ?? base?.makeAsyncIterator() else { throw TransferFailure.slow(.total) }
        iterator = nil
        let chunk = try await current.next(isolation: self)
        guard base != nil else { throw TransferFailure.slow(.total) }
        iterator = current
        if chunk == nil { end() }
        return chunk
    }

    /// Drops the body, and ends the hop.
    func end() {
        base = nil
        iterator = nil
        place.leave()
    }
}
