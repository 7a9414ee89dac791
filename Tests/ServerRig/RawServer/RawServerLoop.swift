// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The thread of a ``RawServer``: it waits for sockets, gates and times, and lets each connection follow its script.
struct RawServerLoop: Sendable {
    let listener: FileDescriptor
    let bell: FileDescriptor
    let inbox: RawServerInbox
    let script: @Sendable (Int) -> [RawServer.Step]
    private var connections: [RawConnection] = []
    private var waiters: [RawServerWaiter] = []
    private var isStopped = false
    private var refuses = false

    init(
        listener: FileDescriptor,
        bell: FileDescriptor,
        inbox: RawServerInbox,
        script: @escaping @Sendable (Int) -> [RawServer.Step]
    ) {
        self.listener = listener
        self.bell = bell
        self.inbox = inbox
        self.script = script
    }

    mutating func run() {
        while !isStopped {
            wait()
            takeMessages()
            accept()
            // Weak: a gate that is never opened must not keep the server alive.
            let wake: @Sendable () -> Void = { [weak inbox] in inbox?.post(.wake) }
            for index in connections.indices where !connections[index].record.isClosed {
                if connections[index].interest & Int16(POLLIN) != 0 { connections[index].receive() }
            }
            // Received data is published before its response is sent: a test that has the response finds the data in
            // `connections`.
            inbox.publish(connections.map(\.record))
            for index in connections.indices where !connections[index].record.isClosed {
                connections[index].advance(wake: wake)
            }
            answerWaiters()
        }
        for index in connections.indices { connections[index].finish() }
        inbox.publish(connections.map(\.record))
        for case .wait(let waiter) in inbox.close() { waiters.append(waiter) }
        for waiter in waiters { waiter.continuation.resume(throwing: RigError("the server has stopped")) }
    }

    private func wait() {
        var descriptors = [listener.number, bell.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        for connection in connections where !connection.record.isClosed {
            descriptors.append(pollfd(fd: connection.socket, events: connection.interest, revents: 0))
        }
        // A connection with nothing to wait for would report its end repeatedly.
        for index in descriptors.indices where descriptors[index].events == 0 { descriptors[index].fd = -1 }
        if refuses { descriptors[0].fd = -1 }
        let times = connections.filter { !$0.record.isClosed }.compactMap(\.pausedUntil) + waiters.map(\.deadline)
        let milliseconds = times.min().map { max(0, ($0 - .now) / .milliseconds(1)).rounded(.up) }
        poll(&descriptors, UInt(descriptors.count), milliseconds.map { Int32(min($0, 60_000)) } ?? -1)
        if descriptors[1].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 256)
            _ = read(bell.number, &bytes, bytes.count)
        }
    }

    private mutating func takeMessages() {
        for message in inbox.takeMessages() {
            switch message {
            case .stop: isStopped = true
            case .refuse:
                refuses = true
                shutdown(listener.number, Int32(SHUT_RDWR))
            case .swallow(let packets):
                PacketFilter.dropEverything(sentTo: listener.number)
                guard packets == .all else { break }
                for connection in connections where !connection.record.isClosed {
                    PacketFilter.dropEverything(sentTo: connection.socket)
                }
            case .restore: PacketFilter.remove(from: listener.number)
            case .wake: break
            case .wait(let waiter): waiters.append(waiter)
            }
        }
    }

    private mutating func accept() {
        guard !isStopped, !refuses else { return }
        while true {
            let socket = acceptedSocket(at: listener.number)
            guard socket >= 0 else { return }
            var one: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout.size(ofValue: one)))
            let number = connections.count
            connections.append(RawConnection(socket: socket, number: number, steps: script(number)))
        }
    }

    private mutating func answerWaiters() {
        let records = connections.map(\.record)
        inbox.publish(records)
        let now = ContinuousClock.now
        waiters.removeAll { waiter in
            if waiter.condition(records) {
                waiter.continuation.resume(returning: records)
            } else if now >= waiter.deadline {
                waiter.continuation.resume(
                    throwing: RigError("what was waited for did not happen; the server has seen \(records.map(\.text))")
                )
            } else {
                return false
            }
            return true
        }
    }
}
