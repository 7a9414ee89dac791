// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCurl
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The sockets of one provider's queries to name servers, and the thread that waits for the answers. The first query starts it.
///
/// Each query has a connected socket of its own: the kernel draws its port, drops what comes from other addresses, and reports a
/// closed port at once.
final class NameServerSockets: Sendable {
    private let table = NameServerSocketTable()
    private let time: any TimeSource

    init(time: any TimeSource) { self.time = time }

    deinit { table.shutDown() }

    /// Sends a query, and returns what arrives for it.
    ///
    /// A datagram is sent again after 400 ms, and each time after twice as long, on the same socket and with the same ID: an answer
    /// to any of them counts, and a forger has no more to hit.
    /// - Returns: The answer. After eight messages on its socket that were none: ``DNSServerQuery/Reading/unrelated``.
    /// - Throws: `TransferFailure`; `CancellationError` when the task is canceled.
    func ask(
        _ query: DNSServerQuery,
        at endpoint: HTTPDNSEndpoint,
        over transport: HTTPDNSDNSProvider.Transport,
        deadline: MonotonicTime
    ) async throws -> DNSServerQuery.Reading {
        try Task.checkCancellation()
        let socket = try NameServerSocket(query, endpoint, isStream: transport == .tcp)
        defer { socket.close() }
        let number = try table.add(socket)
        defer { table.remove(number) }
        socket.send()
        let alarm = time.alarm(at: min(time.now() + NameServerSocket.firstWait, deadline)) { [time] in
            let now = time.now()
            guard now < deadline else {
                socket.expire()
                return nil
            }
            return min(now + socket.sendAgain(), deadline)
        }
        defer { alarm.cancel() }
        return try await socket.end.value(orOnCancel: .failure(CancellationError())).get()
    }

    /// Returns whether a query in flight has this question, in the same case.
    func isAsking(_ question: [UInt8]) -> Bool { table.isAsking(question) }

    /// Ends the queries in flight and the thread. Idempotent.
    func shutDown() { table.shutDown() }
}

/// The open sockets by their numbers, which the thread of the table knows, too.
private final class NameServerSocketTable: Sendable {
    private struct State: Sendable {
        /// The descriptors of the thread; nil before it starts.
        var waker: Waker?
        var open: [UInt64: NameServerSocket] = [:]
        /// The last socket's number; 0 is the waker.
        var last: UInt64 = 0
        var isShutDown = false
    }

    private let state = Lock(State())

    /// - Returns: The number under which it is removed.
    func add(_ socket: NameServerSocket) throws(TransferFailure) -> UInt64 {
        let (number, waker, isNew) = try state.withLock { state throws(TransferFailure) -> (UInt64, Waker, Bool) in
            if state.isShutDown { throw .shutDown }
            state.last += 1
            if let waker = state.waker {
                state.open[state.last] = socket
                return (state.last, waker, false)
            }
            let waker = try Waker()
            state.waker = waker
            state.open[state.last] = socket
            return (state.last, waker, true)
        }
        do throws(TransferFailure) {
            if isNew { try start(waker) }
            try socket.watch(by: waker, as: number)
            return number
        } catch {
            remove(number)
            throw error
        }
    }

    func isAsking(_ question: [UInt8]) -> Bool {
        state.withLock { Array($0.open.values) }.contains { $0.query.asks(question) }
    }

    func remove(_ number: UInt64) { _ = state.withLock { $0.open.removeValue(forKey: number) } }

    func shutDown() {
        let (waker, sockets) = state.withLock { state in
            defer { state.open = [:] }
            state.isShutDown = true
            return (state.waker, Array(state.open.values))
        }
        for socket in sockets { socket.end.deliver(.failure(TransferFailure.shutDown)) }
        waker?.wake()
    }

    private func start(_ waker: Waker) throws(TransferFailure) {
        let hasThread = DetachedThread.start(named: "httpdns-dns") { [self] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: DNSWireFormat.maximumMessageOctets,
                alignment: 1
            )
            defer { buffer.deallocate() }
            waker.run {
                !state.withLock(\.isShutDown)
            } isReady: { number in
                state.withLock { $0.open[number] }?.isReady(buffer)
            }
        }
        guard !hasThread else { return }
        // The next query tries again.
        state.withLock { $0.waker = nil }
        throw TransferFailure(
            code: .transport,
            phase: .queue,
            message: "the system refused a thread; raise the limit of threads or processes"
        )
    }
}

/// The socket of one query.
final class NameServerSocket: Sendable {
    private struct State: Sendable {
        /// -1 after it is closed.
        var descriptor: Int32
        /// The bytes that TCP has not sent yet.
        var unsent: ArraySlice<UInt8>
        /// The bytes that TCP has received.
        var received: [UInt8] = []
        /// Whether TCP has connected.
        var isConnected = false
        /// The messages that were no answer.
        var unrelated = 0
        /// The time until a datagram is sent again.
        var wait = NameServerSocket.firstWait
    }

    /// The first wait for an answer. A resolver on the Internet has most answers within 200 ms; unbound begins with 376 ms.
    static let firstWait = Duration.milliseconds(400)
    /// The number of messages after which someone is guessing.
    private static let maximumUnrelated = 8

    let end = OneShot<Result<DNSServerQuery.Reading, any Error>>()
    let query: DNSServerQuery
    private let isStream: Bool
    private let state: Lock<State>

    /// Opens and connects a socket.
    init(_ query: DNSServerQuery, _ endpoint: HTTPDNSEndpoint, isStream: Bool) throws(TransferFailure) {
        let family = endpoint.address.family == .v4 ? AF_INET : AF_INET6
        let type = isStream ? SOCK_STREAM : SOCK_DGRAM
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, Int32(type.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw .noDescriptor(errno) }
        if !isStream { Self.reportFragments(of: descriptor, endpoint.address.family) }
        let error = endpoint.withSocketAddress { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard error == 0 || error == EINPROGRESS else {
            Glibc.close(descriptor)
            throw Self.failure(error, isConnected: false)
        }
        self.query = query
        self.isStream = isStream
        let count = UInt16(query.message.count)
        let framed = [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + query.message
        state = Lock(State(descriptor: descriptor, unsent: isStream ? framed[...] : []))
    }

    /// Closes the socket. Idempotent.
    func close() {
        let descriptor = state.withLock { state in
            defer { state.descriptor = -1 }
            return state.descriptor
        }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Lets a loop report the socket.
    func watch(by waker: Waker, as number: UInt64) throws(TransferFailure) {
        try state.withLock { state throws(TransferFailure) in
            try waker.watch(state.descriptor, as: number, sends: isStream)
        }
    }

    /// Sends a datagram. A stream sends when it has connected.
    func send() {
        guard !isStream else { return }
        let error = state.withLock { state in
            Glibc.send(state.descriptor, query.message, query.message.count, Int32(MSG_NOSIGNAL)) < 0
                ? errno : 0
        }
        // A full buffer loses it as a network would.
        if error != 0, error != EAGAIN { end.deliver(.failure(Self.failure(error, isConnected: false))) }
    }

    /// Sends a datagram again.
    /// - Returns: The time until the next one.
    func sendAgain() -> Duration {
        send()
        return state.withLock { state in
            state.wait = state.wait * 2
            return state.wait
        }
    }

    func expire() {
        let isConnecting = state.withLock { isStream && !$0.isConnected }
        let message = isConnecting ? "it takes no connection over TCP" : "no answer over \(isStream ? "TCP" : "UDP")"
        end.deliver(
            .failure(TransferFailure(code: .timedOut, phase: isConnecting ? .connect : .firstByte, message: message))
        )
    }

    /// Takes what has arrived. On the thread of the table alone.
    /// - Parameter buffer: Memory for a message.
    func isReady(_ buffer: UnsafeMutableRawBufferPointer) {
        let outcome = state.withLock { state -> Result<DNSServerQuery.Reading, any Error>? in
            guard state.descriptor >= 0 else { return nil }
            do throws(TransferFailure) {
                return try (isStream ? readStream(&state, buffer) : readDatagrams(&state, buffer)).map { .success($0) }
            } catch {
                return .failure(error)
            }
        }
        if let outcome { end.deliver(outcome) }
    }

    private func readDatagrams(
        _ state: inout State,
        _ buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> DNSServerQuery.Reading? {
        while let (count, isReassembled) = try receiveDatagram(state, buffer) {
            let reading = query.read(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            // Port, ID and name are in the first fragment: those after it could be anyone's.
            guard reading == .unrelated else { return isReassembled ? .truncated : reading }
            state.unrelated += 1
            if state.unrelated == Self.maximumUnrelated { return .unrelated }
        }
        return nil
    }

    private func readStream(
        _ state: inout State,
        _ buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> DNSServerQuery.Reading? {
        while !state.unsent.isEmpty {
            let sent = state.unsent.withUnsafeBytes {
                Glibc.send(state.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent >= 0 else {
                if errno == EAGAIN { return nil }
                throw Self.failure(errno, isConnected: state.isConnected)
            }
            state.isConnected = true
            state.unsent.removeFirst(sent)
        }
        while let count = try receive(state, buffer) {
            guard count > 0 else {
                throw TransferFailure(code: .connectionLost, phase: .firstByte, message: "it closed the connection")
            }
            state.received += buffer[..<count]
            guard state.received.count >= 2 else { continue }
            let length = Int(state.received[0]) << 8 | Int(state.received[1])
            guard state.received.count >= 2 + length else { continue }
            return state.received.withUnsafeBytes { query.read(UnsafeRawBufferPointer(rebasing: $0[2..<2 + length])) }
        }
        return nil
    }

    /// Lets the system report which datagrams were reassembled from fragments (ip(7), ipv6(7)).
    private static func reportFragments(of descriptor: Int32, _ family: HTTPDNSAddress.Family) {
        // IP_RECVFRAGSIZE of linux/in.h and IPV6_RECVFRAGSIZE of linux/in6.h, which Glibc does not import.
        let (level, option): (Int, Int32) = family == .v4 ? (IPPROTO_IP, 25) : (Int(IPPROTO_IPV6), 77)
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(level), option, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    /// - Returns: The number of bytes, and whether the datagram came in fragments; nil when there is none yet.
    private func receiveDatagram(
        _ state: State,
        _ buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> (count: Int, isReassembled: Bool)? {
        var control: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let (count, error, isReassembled) = withUnsafeMutableBytes(of: &control) { control in
            var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
            return withUnsafeMutablePointer(to: &part) { part in
                var message = msghdr()
                (message.msg_iov, message.msg_iovlen) = (part, 1)
                (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                let count = recvmsg(state.descriptor, &message, 0)
                // Nothing else is reported.
                return (count, errno, message.msg_controllen > 0)
            }
        }
        if count >= 0 { return (count, isReassembled) }
        if error == EAGAIN { return nil }
        throw Self.failure(error, isConnected: state.isConnected)
    }

    /// - Returns: The number of bytes; nil when there are none yet.
    private func receive(
        _ state: State,
        _ buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int? {
        let count = recv(state.descriptor, buffer.baseAddress, buffer.count, 0)
        if count >= 0 { return count }
        if errno == EAGAIN { return nil }
        throw Self.failure(errno, isConnected: state.isConnected)
    }

    private static func failure(_ error: Int32, isConnected: Bool) -> TransferFailure {
        isConnected
            ? TransferFailure(code: .connectionLost, phase: .firstByte, message: systemErrorText(error))
            : TransferFailure(code: .connectFailed, phase: .connect, message: systemErrorText(error))
    }
}
