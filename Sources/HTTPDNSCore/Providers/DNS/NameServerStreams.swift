// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The connections of one provider to name servers over TLS (RFC 7858): one to each server, for all of its queries.
final class NameServerStreams: Sendable {
    private let streams: TLSStreams
    private let time: any TimeSource
    private let connections = Lock<[HTTPDNSEndpoint: NameServerConnection]>([:])

    init(_ trust: HTTPDNSTrust, name: String?, time: any TimeSource) {
        streams = TLSStreams(trust, name: name)
        self.time = time
    }

    deinit { streams.shutDown() }

    /// Sends a query on the server's connection, which is opened if there is none, and returns the answer.
    /// - Parameter draw: Returns the query with another ID at each call.
    /// - Throws: `TransferFailure`, which is `connectionLost` also when the server has closed the kept connection; `CancellationError`.
    func ask(
        at server: HTTPDNSEndpoint,
        deadline: MonotonicTime,
        drawing draw: () -> DNSServerQuery
    ) async throws -> [UInt8] {
        try Task.checkCancellation()
        let connection = try connection(to: server)
        let (number, end) = connection.add(draw)
        defer { connection.remove(number) }
        let alarm = time.alarm(at: deadline) {
            connection.expire(number)
            return nil
        }
        defer { alarm.cancel() }
        return try await end.value(orOnCancel: .failure(CancellationError())).get()
    }

    private func connection(to server: HTTPDNSEndpoint) throws(TransferFailure) -> NameServerConnection {
        try connections.withLock { connections throws(TransferFailure) in
            if let connection = connections[server] { return connection }
            let connection = NameServerConnection(streams, time)
            // Events come on another thread, after this.
            try connection.open(server) { [weak self] in self?.forget(connection, server) }
            connections[server] = connection
            return connection
        }
    }

    private func forget(_ connection: NameServerConnection, _ server: HTTPDNSEndpoint) {
        connections.withLock { connections in
            if connections[server] === connection { connections[server] = nil }
        }
    }

    /// Ends the queries in flight and the thread. Idempotent.
    func shutDown() { streams.shutDown() }
}

/// A connection to a name server, with its queries, which are answered in any order (RFC 7766 section 7).
private final class NameServerConnection: Sendable {
    private typealias Answer = OneShot<Result<[UInt8], any Error>>

    private struct Pending: Sendable {
        var query: DNSServerQuery
        var sentAt: MonotonicTime
        var end: Answer
    }

    private struct State: Sendable {
        var stream: TLSStreams.Stream?
        /// The queries by their IDs.
        var pending: [UInt16: Pending] = [:]
        var received: [UInt8] = []
        var lastReceived: MonotonicTime
        var lastUse: MonotonicTime
        var idle: Alarm?
        var onEnd: (@Sendable () -> Void)?
        var failure: TransferFailure?
    }

    /// The time without queries after which the connection is closed (RFC 7858 section 3.4).
    private static let idleLimit = Duration.seconds(10)

    private let streams: TLSStreams
    private let time: any TimeSource
    private let state: Lock<State>

    init(_ streams: TLSStreams, _ time: any TimeSource) {
        (self.streams, self.time) = (streams, time)
        state = Lock(State(lastReceived: time.now(), lastUse: time.now()))
    }

    /// - Parameter onEnd: Called when no further query can be sent, before those in flight learn of it.
    func open(_ server: HTTPDNSEndpoint, onEnd: @escaping @Sendable () -> Void) throws(TransferFailure) {
        let stream = try streams.open(server) { [self] event in
            switch event {
            case .received(let bytes): received(bytes)
            case .ended(let failure): end { _ in failure }
            }
        }
        let idle = time.alarm(at: time.now() + Self.idleLimit) { [weak self] in self?.closeIfIdle() }
        state.withLock { ($0.stream, $0.idle, $0.onEnd) = (stream, idle, onEnd) }
    }

    /// Sends a query.
    func add(_ draw: () -> DNSServerQuery) -> (number: UInt16, end: OneShot<Result<[UInt8], any Error>>) {
        let end = Answer()
        let (number, failure) = state.withLock { state in
            var query = draw()
            while state.pending[query.id] != nil { query = draw() }
            let now = time.now()
            state.pending[query.id] = Pending(query: query, sentAt: now, end: end)
            state.lastUse = now
            if let stream = state.stream, state.failure == nil { streams.send(Self.framed(query.message), on: stream) }
            return (query.id, state.failure)
        }
        if let failure { end.deliver(.failure(failure)) }
        return (number, end)
    }

    private static func framed(_ message: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: message.count >> 8), UInt8(truncatingIfNeeded: message.count)] + message
    }

    func remove(_ number: UInt16) {
        state.withLock { state in
            state.pending[number] = nil
            state.lastUse = time.now()
        }
    }

    /// Ends a query whose time is up. A connection on which nothing has arrived since it was sent is given up: it may lead nowhere.
    func expire(_ number: UInt16) {
        let pending = state.withLock { $0.pending.removeValue(forKey: number) }
        guard let pending else { return }
        let failure = TransferFailure(code: .timedOut, phase: .firstByte, message: "no answer over TLS")
        pending.end.deliver(.failure(failure))
        end { $0.lastReceived < pending.sentAt ? Self.closed : nil }
    }

    private static let closed = TransferFailure(
        code: .connectionLost,
        phase: .firstByte,
        message: "the connection is closed"
    )

    private func received(_ bytes: [UInt8]) {
        var ends: [(Answer, Result<[UInt8], any Error>)] = []
        state.withLock { state in
            state.lastReceived = time.now()
            state.received += bytes
            while state.received.count >= 2 {
                let length = Int(state.received[0]) << 8 | Int(state.received[1])
                guard state.received.count >= 2 + length else { break }
                let message = Array(state.received[2..<2 + length])
                state.received.removeFirst(2 + length)
                // An answer to a query that waits no longer is passed over.
                guard message.count >= 2,
                    let pending = state.pending.removeValue(forKey: UInt16(message[0]) << 8 | UInt16(message[1]))
                else { continue }
                switch message.withUnsafeBytes({ pending.query.read($0) }) {
                case .answer(let answer), .otherCase(let answer): ends.append((pending.end, .success(answer)))
                case .truncated, .unrelated:
                    let failure = TransferFailure(
                        code: .protocolViolation,
                        phase: .firstByte,
                        message: "no answer to the query"
                    )
                    ends.append((pending.end, .failure(failure)))
                }
            }
        }
        for (end, result) in ends { end.deliver(result) }
    }

    /// Ends the connection for the reason that a look at its state gives. Idempotent.
    private func end(_ reason: (State) -> TransferFailure?) {
        let ended = state.withLock { state -> (State, TransferFailure)? in
            guard state.failure == nil, let failure = reason(state) else { return nil }
            defer { (state.failure, state.pending, state.idle, state.onEnd) = (failure, [:], nil, nil) }
            return (state, failure)
        }
        guard let (ended, failure) = ended else { return }
        ended.onEnd?()
        ended.idle?.cancel()
        if let stream = ended.stream { streams.close(stream) }
        for query in ended.pending.values { query.end.deliver(.failure(failure)) }
    }

    /// - Returns: The next time to look.
    private func closeIfIdle() -> MonotonicTime? {
        let now = time.now()
        end { $0.pending.isEmpty && $0.lastUse + Self.idleLimit <= now ? Self.closed : nil }
        return state.withLock { state in
            guard state.failure == nil else { return nil }
            return max(state.lastUse, now - Self.idleLimit + .seconds(1)) + Self.idleLimit
        }
    }
}
