// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// One connection of a ``RawServer``, and its position in the script. Only the server's thread accesses it.
struct RawConnection {
    let socket: Int32
    var record: RawServer.Connection
    private var steps: ArraySlice<RawServer.Step>
    private var unsent: ArraySlice<UInt8> = []
    /// The number of received bytes that the script has read.
    private var consumed = 0
    private(set) var pausedUntil: ContinuousClock.Instant?
    private var gatesAsked = false

    init(socket: Int32, number: Int, steps: [RawServer.Step]) {
        self.socket = socket
        record = RawServer.Connection(number: number)
        self.steps = steps[...]
    }

    /// The events that the loop has to wait for.
    var interest: Int16 {
        var events: Int16 = 0
        if !unsent.isEmpty { events |= Int16(POLLOUT) }
        if !record.isClosedByClient, !holdsReading { events |= Int16(POLLIN) }
        return events
    }

    private var holdsReading: Bool {
        switch steps.first {
        case .hangWithoutReading: true
        case .waitWithoutReading(let gate): !gate.isOpen
        default: false
        }
    }

    /// Receives the bytes that have arrived.
    mutating func receive() {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                record.received += buffer[..<count]
            } else {
                if count == 0 || (errno != EAGAIN && errno != EINTR) { record.isClosedByClient = true }
                return
            }
        }
    }

    /// Follows the script as far as possible without waiting.
    /// - Parameter wake: Called from any thread when a gate that the script waits for has opened.
    mutating func advance(wake: @escaping @Sendable () -> Void) {
        while !record.isClosed, flush() {
            guard let step = steps.first else { return finish() }
            guard perform(step, wake: wake) else { return }
            // `repeatForever` has inserted its steps before itself.
            if case .repeatForever = step { continue }
            steps = steps.dropFirst()
            gatesAsked = false
        }
    }

    /// - Returns: Whether the step is complete.
    private mutating func perform(_ step: RawServer.Step, wake: @escaping @Sendable () -> Void) -> Bool {
        switch step {
        case .readHead:
            let unread = record.received[consumed...]
            guard let end = unread.firstRange(of: [13, 10, 13, 10])?.upperBound else { return endIfClientIsGone() }
            consumed = end
        case .read(let count):
            guard record.received.count - consumed >= count else { return endIfClientIsGone() }
            consumed += count
        case .readToEnd: return record.isClosedByClient
        case .send(let bytes): unsent = bytes[...]
        case .sendText(let text): unsent = Array(text.utf8)[...]
        case .wait(let gate):
            guard !gate.isOpen else { return true }
            if !gatesAsked {
                gatesAsked = true
                gate.whenOpen(wake)
            }
            return endIfClientIsGone()
        case .waitWithoutReading(let gate):
            guard !gate.isOpen else { return true }
            if !gatesAsked {
                gatesAsked = true
                gate.whenOpen(wake)
            }
            return false
        case .pause(let duration):
            guard let end = pausedUntil else {
                pausedUntil = .now + duration
                return false
            }
            guard .now >= end else { return false }
            pausedUntil = nil
        case .open(let gate): gate.open()
        case .shutdownSending: shutdown(socket, Int32(SHUT_WR))
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            finish()
            return false
        case .swallow: PacketFilter.dropEverything(sentTo: socket)
        case .hang: return endIfClientIsGone()
        case .hangWithoutReading: return false
        case .repeatForever(let inner):
            guard !inner.isEmpty else { return false }
            steps = (inner + steps)[...]
        }
        return true
    }

    /// Ends the connection when the client is gone: the rest of the script would wait without end.
    private mutating func endIfClientIsGone() -> Bool {
        if record.isClosedByClient { finish() }
        return false
    }

    /// - Returns: Whether everything is sent.
    private mutating func flush() -> Bool {
        while !unsent.isEmpty {
            let count = unsent.withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                unsent = unsent.dropFirst(count)
                record.sent += count
            } else if errno == EAGAIN {
                return false
            } else if errno != EINTR {
                record.isClosedByClient = true
                finish()
                return false
            }
        }
        return true
    }

    mutating func finish() {
        guard !record.isClosed else { return }
        record.isClosed = true
        close(socket)
    }
}
