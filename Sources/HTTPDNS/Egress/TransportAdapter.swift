// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Synchronization

/// The sender of hops by a transport of the program's own, with the limits that libcurl's loop holds otherwise.
final class TransportAdapter: HopSending {
    private let transport: any HTTPDNSTransport
    private let maximum: Int
    private let counter = HopCounter()
    private let isClosed = Atomic(false)

    init(_ transport: any HTTPDNSTransport, maximum: Int) {
        self.transport = transport
        self.maximum = maximum
    }

    var transfersInFlight: Int { counter.inFlight.load(ordering: .relaxed) }

    func send(_ request: consuming TransferRequest, unless isStale: () -> Bool) async throws -> HopAnswer? {
        if isStale() { return nil }
        if isClosed.load(ordering: .acquiring) {
            throw TransferFailure.shutDown
        }
        guard request.egressPath == nil, !request.stopsBeforeSending else {
            throw HTTPDNSClientError.configuration(
                "proxies, Unix sockets, local addresses and connections made in advance are of libcurl's transport alone",
                hint: "leave them out, or create the client without a transport of its own"
            )
        }
        let place = HopCounter.Place(counter, permit: request.permit)
        guard place.number <= maximum else {
            throw TransferFailure(code: .limitReached, phase: .queue, message: "\(maximum) requests are in flight")
        }
        let (hop, limits) = (HTTPDNSHop(request), request.limits)
        let now = SystemTimeSource().now()
        let bound = TimeBound.first([
            // Nothing tells when the last byte of a body was sent.
            .firstByte: hop.body.length == 0 ? limits.firstByte.map { now + $0 } : nil,
            .head: hop.body.length == 0 ? limits.headDeadline : nil, .total: limits.deadline,
        ])
        let response: HTTPDNSHop.Response
        do {
            response = try await bound.run { [transport] in try await transport.send(hop) }
        } catch var failure as TransferFailure where failure.code == .connectFailed {
            failure.attempts = hop.endpoints.map {
                TransferAttempt(
                    endpoint: $0,
                    phase: .connect,
                    code: .connectFailed,
                    message: failure.message,
                    elapsed: .zero
                )
            }
            failure.endpoint = hop.endpoints.last
            throw failure
        }
        return HopAnswer(
            head: ResponseHead(response.head),
            version: response.version,
            endpoint: response.endpoint,
            reusedConnection: false,
            timings: HTTPDNSClient.Exchange.Timings(firstByte: SystemTimeSource().now() - now),
            body: .chunks(LimitedChunks(base: response.body, limits: limits, place: place))
        )
    }

    func shutdown(drainingFor duration: Duration) async {
        // The client has waited for its calls, and with them for these hops.
        if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { await transport.shutdown() }
    }
}

extension HTTPDNSHop {
    fileprivate init(_ request: borrowing TransferRequest) {
        let url = request.url
        method = request.method
        self.url = "\(url.scheme.rawValue)://\(url.authority)\(url.target)"
        serverName = url.hostText
        authority = request.hostHeader ?? url.authority
        headerFields = request.headerFields
        if request.decodes, !headerFields.contains(.acceptEncoding) {
            headerFields[.acceptEncoding] = TransferRequest.acceptedCodings
        }
        body =
            switch request.body {
            case .none: Body(length: 0, chunks: nil, progress: nil)
            case .bytes(let bytes):
                Body(length: Int64(bytes.count), chunks: AsyncThrowingStream(bytes), progress: request.uploadProgress)
            case .stream(let length, let chunks): Body(length: length, chunks: chunks, progress: request.uploadProgress)
            }
        endpoints = request.endpoints
        versions = request.versions
    }
}

/// The number of hops whose body has not ended.
private final class HopCounter: Sendable {
    let inFlight = Atomic(0)

    /// A hop, until the last reference to it is gone: it has failed, or its body has ended.
    final class Place: Sendable {
        private let counter: HopCounter
        /// The number of hops in flight with it.
        let number: Int
        /// The permit of its connection.
        private let permit: (any AnyObject & Sendable)?

        init(_ counter: HopCounter, permit: (any AnyObject & Sendable)?) {
            self.counter = counter
            self.permit = permit
            number = counter.inFlight.add(1, ordering: .relaxed).newValue
        }

        deinit { counter.inFlight.subtract(1, ordering: .relaxed) }
    }
}

/// A time limit of a hop.
private struct TimeBound: Sendable {
    var phase: TransferFailure.Phase
    var end: MonotonicTime

    private static let never = TimeBound(phase: .total, end: MonotonicTime(nanoseconds: .max))

    /// Returns the first of several limits.
    static func first(_ ends: KeyValuePairs<TransferFailure.Phase, MonotonicTime?>) -> TimeBound {
        ends.reduce(never) { first, next in
            guard let end = next.value, end < first.end else { return first }
            return TimeBound(phase: next.key, end: end)
        }
    }

    /// Runs a step of the transport until the limit, and waits no longer for it.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    func run<Success: Sendable>(_ step: @escaping @Sendable () async throws -> Success) async throws -> Success {
        var failure: TransferFailure
        switch await LimitedWork.run(until: end, on: SystemTimeSource(), operation: step) {
        case .succeeded(let result): return result
        case .canceled: throw CancellationError()
        case .failed(let error):
            let known = error as? HTTPDNSTransportError
            failure = TransferFailure(
                code: known?.isUnsent == true ? .connectFailed : .connectionLost,
                phase: known?.isUnsent == true ? .connect : phase,
                message: known?.message ?? "the transport failed: \(error)"
            )
            failure.requestMayHaveBeenSent = known?.isUnsent != true
        case .timedOut:
            failure = TransferFailure(code: .timedOut, phase: phase, message: "the transport was too slow")
            failure.requestMayHaveBeenSent = true
        }
        throw failure
    }
}

/// The body of a response by a transport of the program, within the limits of its call.
private struct LimitedChunks: AsyncSequence, Sendable {
    let base: any AsyncSequence<[UInt8], any Error> & Sendable
    let limits: TransferLimits
    let place: HopCounter.Place

    struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: ChunkReader
        private let limits: TransferLimits
        private var count = 0
        /// Nil at the end.
        private var place: HopCounter.Place?

        init(_ chunks: LimitedChunks) {
            reader = ChunkReader(chunks.base)
            limits = chunks.limits
            place = chunks.place
        }

        mutating func next() async throws -> [UInt8]? {
            guard place != nil else { return nil }
            let current = place
            place = nil
            let now = SystemTimeSource().now()
            let bound = TimeBound.first([.body: limits.idle.map { now + $0 }, .total: limits.deadline])
            guard let chunk = try await bound.run({ [reader] in try await reader.next() }) else { return nil }
            count += chunk.count
            if let most = limits.maximumResponseBytes, count > most {
                var failure = TransferFailure.tooLong(most)
                failure.requestMayHaveBeenSent = true
                throw failure
            }
            place = current
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// The reader of a body, whose reads can be abandoned at a time limit.
private actor ChunkReader {
    private let base: any AsyncSequence<[UInt8], any Error> & Sendable
    private var iterator: (any AsyncIteratorProtocol<[UInt8], any Error>)?

    init(_ base: any AsyncSequence<[UInt8], any Error> & Sendable) { self.base = base }

    func next() async throws -> [UInt8]? {
        // Taken out while it is in use: a second read begins only after the first one has ended.
        var current = iterator ?? base.makeAsyncIterator()
        iterator = nil
        let chunk = try await current.next(isolation: self)
        iterator = current
        return chunk
    }
}
