// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The event loop of a control socket: it accepts, reads, writes and waits in one `poll(2)`, and performs no request itself.
///
/// Used on its own thread alone.
final class ControlLoop {
    private struct Client {
        var descriptor: Int32
        var state: ControlConnection
        var watch: Task<Void, Never>?
    }

    private let file: SocketFile
    private let mailbox: ControlMailbox
    private let desk: ControlRequestHandler
    private let clock = SystemTimeSource()
    private var clients: [UInt64: Client] = [:]
    private var lastNumber: UInt64 = 0
    /// The time until which no connection is accepted, because the process has no descriptors left.
    private var fullUntil: MonotonicTime?
    private var buffer = [UInt8](repeating: 0, count: 16 * 1024)

    /// The pause for free descriptors: without it, poll would return immediately again and again.
    private static let pauseWhenFull = Duration.seconds(1)

    init(_ file: SocketFile, _ mailbox: ControlMailbox, _ desk: ControlRequestHandler) {
        self.file = file
        self.mailbox = mailbox
        self.desk = desk
    }

    /// Runs until it is stopped, then closes everything and removes the socket's file.
    func run() {
        while handleMessages() {
            var polled = descriptors()
            let numbers = Array(clients.keys)
            for number in numbers { polled.append(descriptor(of: number)) }
            let count = poll(&polled, nfds_t(polled.count), timeout)
            // A signal, or no memory: the state of the descriptors is unknown.
            if count < 0 { continue }
            if polled[1].revents != 0 { accept() }
            for (number, entry) in zip(numbers, polled.dropFirst(2)) { serve(number, Int32(entry.revents)) }
            let now = clock.now()
            for number in numbers { act(on: clients[number]?.state.timePassed(at: now), of: number, at: now) }
        }
        for number in clients.keys { drop(number) }
        file.remove()
    }

    // MARK: Waiting

    private func descriptors() -> [pollfd] {
        if let fullUntil, clock.now() >= fullUntil { self.fullUntil = nil }
        return [
            pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0),
            // poll ignores a negative descriptor.
            pollfd(fd: fullUntil == nil ? file.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
    }

    private func descriptor(of number: UInt64) -> pollfd {
        guard let client = clients[number] else { return pollfd(fd: -1, events: 0, revents: 0) }
        var events: Int32 = 0
        if client.state.wantsInput { events |= Int32(POLLIN) }
        if !client.state.pendingOutput.isEmpty { events |= Int32(POLLOUT) }
        return pollfd(fd: client.descriptor, events: Int16(events), revents: 0)
    }

    /// The timeout in milliseconds; -1 while it waits for descriptors only.
    private var timeout: Int32 {
        let deadlines = clients.values.compactMap(\.state.deadline) + (fullUntil.map { [$0] } ?? [])
        guard let next = deadlines.min() else { return -1 }
        // One more, or the loop would be busy during the last fraction of a millisecond.
        let milliseconds = max(next - clock.now(), .zero).wholeNanoseconds / 1_000_000 + 1
        return Int32(clamping: milliseconds)
    }

    // MARK: Messages

    /// - Returns: Whether to continue.
    private func handleMessages() -> Bool {
        for message in mailbox.take() {
            let now = clock.now()
            switch message {
            case .stop: return false
            case .line(let line, let number):
                act(on: clients[number]?.state.send(line, at: now), of: number, at: now)
                // Most readers have room, so that the line can be written without another turn of the loop.
                flush(number)
            case .performed(let request, let number):
                act(on: clients[number]?.state.performed(request, at: now), of: number, at: now)
            }
        }
        return true
    }

    private func act(on actions: [ControlConnection.Action]?, of number: UInt64, at now: MonotonicTime) {
        for action in actions ?? [] {
            switch action {
            case .close: drop(number)
            case .perform(let request): perform(request, for: number)
            }
        }
    }

    private func perform(_ request: ControlRequest, for number: UInt64) {
        let (desk, mailbox) = (desk, mailbox)
        if case .watch(let interval, let selection) = request.command {
            clients[number]?.watch = Task.detached {
                await desk.watch(every: interval, selection) { mailbox.post(.line($0.line, number)) }
                mailbox.post(.performed(request, number))
            }
            return
        }
        // A dedicated thread and no task: a program whose tasks are all blocked must still be inspected or switched off.
        // There are at most as many threads as connections.
        let isStarted = DetachedThread.start {
            mailbox.post(.line(desk.answer(to: request).line, number))
            mailbox.post(.performed(request, number))
        }
        if !isStarted { drop(number) }
    }

    // MARK: Sockets

    private func accept() {
        while true {
            let descriptor = ControlLoop.accept(file.descriptor)
            guard descriptor >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: fullUntil = clock.now() + ControlLoop.pauseWhenFull
                default: break
                }
                return
            }
            if let fault = refusal(of: descriptor) {
                // Its buffer is empty, so that the line fits. A peer that does not read it gets the end of the connection.
                _ = SocketOctets.write(ControlReply(to: nil, fault).line[...], to: descriptor)
                close(descriptor)
                continue
            }
            lastNumber += 1
            clients[lastNumber] = Client(descriptor: descriptor, state: ControlConnection(at: clock.now()))
        }
    }

    private func refusal(of descriptor: Int32) -> ControlFault? {
        guard let peer = Peer(of: descriptor), peer.mayControl else {
            desk.noteStranger(Peer(of: descriptor)?.userID)
            return ControlFault(
                .notPermitted,
                "only the service's own user and root may control it",
                hint: "run resolve-test as that user"
            )
        }
        guard clients.count < ControlProtocol.maximumConnections else {
            return ControlFault(
                .tooManyConnections,
                "\(ControlProtocol.maximumConnections) connections are open, which is the limit",
                hint: "end a watch that is no longer needed"
            )
        }
        return nil
    }

    private func serve(_ number: UInt64, _ events: Int32) {
        guard events != 0 else { return }
        if events & Int32(POLLIN) != 0 { receive(number) }
        if events & Int32(POLLOUT) != 0 { flush(number) }
        // The peer is gone. Its earlier bytes were read above.
        if events & Int32(POLLIN) == 0, events & Int32(POLLHUP | POLLERR | POLLNVAL) != 0 { drop(number) }
    }

    private func receive(_ number: UInt64) {
        guard let client = clients[number] else { return }
        let count = read(client.descriptor, &buffer, buffer.count)
        let now = clock.now()
        if count > 0 {
            act(on: clients[number]?.state.received(buffer[..<count], at: now), of: number, at: now)
        } else if count == 0 {
            act(on: clients[number]?.state.inputEnded(at: now), of: number, at: now)
        } else if errno != EAGAIN, errno != EINTR {
            drop(number)
        }
        flush(number)
    }

    /// Writes as much as the kernel accepts.
    private func flush(_ number: UInt64) {
        while let client = clients[number], !client.state.pendingOutput.isEmpty {
            let count = SocketOctets.write(client.state.pendingOutput, to: client.descriptor)
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { drop(number) }
                return
            }
            let now = clock.now()
            act(on: clients[number]?.state.wrote(count, at: now), of: number, at: now)
        }
    }

    private func drop(_ number: UInt64) {
        guard let client = clients.removeValue(forKey: number) else { return }
        client.watch?.cancel()
        close(client.descriptor)
    }

    private static func accept(_ listener: Int32) -> Int32 {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return descriptor }
        // In two steps, since glibc declares accept4 for _GNU_SOURCE only, which Swift does not set.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }
}

/// The user at the other end of a connection, as reported by the kernel.
struct Peer: Hashable, Sendable {
    var userID: uid_t

    init(userID: uid_t) { self.userID = userID }

    /// - Returns: Nil when the system does not report it.
    init?(of descriptor: Int32) {
        guard let credentials = PeerCredentials(of: descriptor) else { return nil }
        userID = credentials.user
    }

    /// Whether the peer is the service's own user, or root.
    var mayControl: Bool { mayControl(serviceOf: geteuid()) }

    func mayControl(serviceOf user: uid_t) -> Bool { userID == 0 || userID == user }
}

/// Writes to a socket.
enum SocketOctets {
    /// Writes some of the bytes. A closed connection is an error, and causes no signal.
    /// - Returns: The number of bytes; negative when `errno` has the error.
    static func write(_ octets: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        octets.withUnsafeBytes { buffer in
            send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
        }
    }
}
