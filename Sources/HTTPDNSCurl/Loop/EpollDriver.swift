// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc

/// epoll_ctl(2).
typealias EpollControl = @Sendable (Int32, Int32, Int32, UnsafeMutablePointer<epoll_event>?) -> Int32

/// epoll_wait(2).
typealias EpollWait = @Sendable (Int32, UnsafeMutablePointer<epoll_event>, Int32, Int32) -> Int32

/// An object that waits for sockets and lets libcurl act on them: `curl_multi_socket_action` on epoll. One loop has one driver;
/// it lives on the loop's thread. A socket without libcurl's interest stays registered until it has an event or is closed.
///
/// libcurl quirk: Sockets are registered again (7.88.1). libcurl registers a socket again around each keep-alive request. The
/// driver keeps the registration, which saves two system calls. `curl_multi_poll` costs four times as much beside 2,000 silent
/// requests. Tests: none.
final class EpollDriver {
    private struct Registration {
        /// The events that the kernel reports: bits of CURL_POLL_IN and CURL_POLL_OUT.
        var registered: UInt8 = 0
        /// The events that libcurl wants.
        var wanted: UInt8 = 0
        /// The number of the wait in or after which libcurl withdrew its interest.
        var unwantedSince: UInt64 = 0
    }

    private static let eventCapacity = 256

    private let multi: UnsafeMutableRawPointer
    private let waker: Waker
    private let clock: () -> Int64
    private let descriptor: Int32
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventCapacity)
    /// The registrations by descriptor; descriptors are small, because the kernel returns the lowest free one. Unchecked
    /// exclusivity: only this object's methods access them, and libcurl's callbacks enter none of them during a change.
    @exclusivity(unchecked) private var registrations: [Registration] = []
    /// The time of libcurl's next timer; `Int64.max` when it has none.
    private var timerDeadline = Int64.max
    private var now: Int64 = 0
    /// The number of the last wait.
    private(set) var lastWait: UInt64 = 0
    /// The number of events of the last wait; negative when it failed.
    private var eventCount: Int32 = 0
    /// The number of the last wait that reported all sockets, and whose events were handled.
    private var lastWholeWait: UInt64 = 0
    /// Unchecked exclusivity, as of `unwatched`: nothing that is called during a change comes back.
    @exclusivity(unchecked) private var room: IdleConnectionLimit
    private let control: EpollControl
    private let waitForEvents: EpollWait
    /// Sockets that the kernel refused to watch.
    @exclusivity(unchecked) private var unwatched: [(descriptor: Int32, error: Int32)] = []

    /// - Throws: ``TransferFailure`` when the system refuses to watch the waker's descriptor.
    init(
        multi: UnsafeMutableRawPointer,
        waker: Waker,
        room: IdleConnectionLimit,
        clock: @escaping () -> Int64,
        control: @escaping EpollControl,
        wait: @escaping EpollWait
    ) throws(TransferFailure) {
        descriptor = waker.epoll
        var event = epoll_event()
        // Edge-triggered: each wake-up is reported once, and the descriptor need not be read.
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.fd = waker.descriptor
        guard control(descriptor, EPOLL_CTL_ADD, waker.descriptor, &event) == 0 else {
            throw TransferFailure.notWatched(errno)
        }
        self.control = control
        waitForEvents = wait
        self.multi = multi
        self.waker = waker
        self.clock = clock
        self.room = room
        let me = Unmanaged.passUnretained(self).toOpaque()
        _ = ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, me)
        _ = ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, me)
        _ = ccurl_multi_set_socket_function(multi) { _, socket, what, pointer, _ in
            if let pointer {
                Unmanaged<EpollDriver>.fromOpaque(pointer).takeUnretainedValue().watch(socket, for: what)
            }
            return 0
        }
        _ = ccurl_multi_set_timer_function(multi) { _, milliseconds, pointer in
            if let pointer {
                Unmanaged<EpollDriver>.fromOpaque(pointer).takeUnretainedValue().setTimer(milliseconds)
            }
            return 0
        }
    }

    deinit { events.deallocate() }

    /// Whether the kernel has refused to watch sockets since they were last taken.
    var hasUnwatched: Bool { !unwatched.isEmpty }

    /// Returns the sockets that the kernel has refused to watch since the last call, and the error numbers.
    func takeUnwatched() -> [(descriptor: Int32, error: Int32)] {
        if unwatched.isEmpty { return [] }
        defer { unwatched = [] }
        return unwatched
    }

    /// Lets libcurl process everything due: new transfers, and its own timers.
    /// - Returns: Whether there was anything.
    @discardableResult
    func act(now: Int64) -> Bool {
        self.now = now
        guard timerDeadline <= now else { return false }
        timerDeadline = .max
        var running: Int32 = 0
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
        room.keep(besides: running, in: multi)
        return true
    }

    /// Waits for an event of a socket, the waker or a timer of libcurl, until `deadline` at the latest (`Int64.max`: no
    /// limit). The clock is read after the wait. ``actOnEvents()`` must follow.
    func wait(until deadline: Int64, now: Int64) {
        let limit = min(deadline, timerDeadline)
        lastWait += 1
        eventCount = waitForEvents(
            descriptor,
            events,
            Int32(EpollDriver.eventCapacity),
            limit == .max ? -1 : Milliseconds.roundedUp(max(0, limit - now))
        )
        self.now = clock()
    }

    /// Lets libcurl act on the sockets that had events.
    /// - Returns: Whether there were any.
    func actOnEvents() -> Bool {
        var running: Int32 = -1
        for index in 0..<Int(max(0, eventCount)) { handle(events[index], &running) }
        if 0..<EpollDriver.eventCapacity ~= Int(eventCount) { lastWholeWait = lastWait }
        return running >= 0
    }

    /// Returns whether a socket without libcurl's interest has received nothing (libcurl quirk "Stray bytes"). A socket stays
    /// registered while libcurl has no interest in it, and an event removes it. So a socket that is still registered had
    /// received nothing when the last wait that watched it ended.
    func isSilent(_ descriptor: Int32) -> Bool {
        guard Int(descriptor) < registrations.count else { return false }
        let registration = registrations[Int(descriptor)]
        return registration.wanted == 0 && registration.registered & UInt8(CURL_POLL_IN) != 0
            && registration.unwantedSince < lastWholeWait
    }

    /// Returns whether a socket may have received bytes that libcurl will not read: libcurl has no interest in it, and it is
    /// not known to be silent.
    func mayHaveStrayBytes(_ descriptor: Int32) -> Bool {
        guard Int(descriptor) < registrations.count else { return true }
        return registrations[Int(descriptor)].wanted == 0 && !isSilent(descriptor)
    }

    /// Notes that libcurl is about to close a descriptor; its number may soon mean another socket.
    func socketClosed(_ descriptor: Int32) {
        guard Int(descriptor) < registrations.count else { return }
        // The kernel forgets a closed descriptor, but not while a forked process still has it: its events would keep waking
        // the loop, and could no longer be removed.
        if registrations[Int(descriptor)].registered != 0 {
            _ = control(self.descriptor, EPOLL_CTL_DEL, descriptor, nil)
        }
        registrations[Int(descriptor)] = Registration()
    }

    /// Releases libcurl, before the multi handle is freed.
    func detach() {
        _ = ccurl_multi_set_socket_function(multi, nil)
        _ = ccurl_multi_set_timer_function(multi, nil)
    }

    /// - Parameter running: Set to the transfers in libcurl when it has acted.
    private func handle(_ event: epoll_event, _ running: inout Int32) {
        let socket = event.data.fd
        if socket == waker.descriptor { return }
        if registrations[Int(socket)].wanted == 0 {
            _ = control(descriptor, EPOLL_CTL_DEL, socket, nil)
            registrations[Int(socket)].registered = 0
            return
        }
        var what: Int32 = 0
        if event.events & EPOLLIN.rawValue != 0 { what |= CURL_CSELECT_IN }
        if event.events & EPOLLOUT.rawValue != 0 { what |= CURL_CSELECT_OUT }
        if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { what |= CURL_CSELECT_ERR }
        curl_multi_socket_action(multi, socket, what, &running)
        room.keep(besides: running, in: multi)
    }

    private func watch(_ socket: Int32, for what: Int32) {
        let index = Int(socket)
        while registrations.count <= index { registrations.append(Registration()) }
        let wanted = what == CURL_POLL_REMOVE ? 0 : UInt8(truncatingIfNeeded: what & (CURL_POLL_IN | CURL_POLL_OUT))
        registrations[index].wanted = wanted
        if wanted == 0 { registrations[index].unwantedSince = lastWait }
        let registered = registrations[index].registered
        if wanted == 0 || registered == wanted { return }
        var event = epoll_event()
        event.data.fd = socket
        if wanted & UInt8(CURL_POLL_IN) != 0 { event.events |= EPOLLIN.rawValue }
        if wanted & UInt8(CURL_POLL_OUT) != 0 { event.events |= EPOLLOUT.rawValue }
        guard control(descriptor, registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event) == 0 else {
            return unwatched.append((socket, errno))
        }
        registrations[index].registered = wanted
    }

    private func setTimer(_ milliseconds: Int) {
        timerDeadline = milliseconds < 0 ? .max : now + Int64(milliseconds) * 1_000_000
    }
}

/// The conversion of waits to whole milliseconds, rounded up so that a deadline has passed when the wait ends.
enum Milliseconds {
    static func roundedUp(_ nanoseconds: Int64) -> Int32 {
        // An hour at most: a wait may always end early.
        Int32(min(max(0, nanoseconds), 3_600_000_000_000) / 1_000_000) + (nanoseconds % 1_000_000 > 0 ? 1 : 0)
    }
}

/// The limit of connections that libcurl keeps. Streams that share a connection (HTTP/2) count individually. Beside many of
/// them more connections than the limit may stay, until they are idle for too long.
///
/// libcurl quirk: The idle limit counts busy connections (7.88.1). CURLMOPT_MAXCONNECTS counts connections in use too, so the
/// limit follows the running transfers. Where none may be kept, CURLOPT_FORBID_REUSE is set. Tests: RetiredConnectionTests,
/// TransportConnectionTests.
struct IdleConnectionLimit {
    private let maximumIdle: Int
    /// The limit changes in steps of this size: beside many transfers it would otherwise be set for each of them. A step is an
    /// eighth of the limit at most, so that a small limit is exact.
    private let step: Int
    /// The state of all loops and the number of this one; `nil` with a single loop.
    private let shared: (state: SharedLoopState, loop: Int)?
    private var limit = 0

    init(maximumIdle: Int, shared: (state: SharedLoopState, loop: Int)? = nil) {
        self.maximumIdle = maximumIdle
        step = max(1, min(64, maximumIdle / 8))
        self.shared = shared
    }

    /// - Parameter running: The transfers in libcurl, one of which may be the next to release its connection.
    mutating func keep(besides running: Int32, in multi: UnsafeMutableRawPointer) {
        // Rounded up, so that no connection is closed for which the limit has room.
        let others = (max(0, Int(running) - 1) + step - 1) / step * step
        // For libcurl 0 selects a limit of its own.
        let elsewhere = shared.map { $0.state.idleConnections(besides: $0.loop) } ?? 0
        // Each loop may keep one connection, whatever the others have.
        let limit = max(1, max(min(1, maximumIdle), maximumIdle - elsewhere) + others)
        guard limit != self.limit else { return }
        self.limit = limit
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limit)
    }
}
