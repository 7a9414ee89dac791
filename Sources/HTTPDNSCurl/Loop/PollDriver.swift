internal import CHTTPDNSCurl

/// The portable driver: libcurl itself polls all of its sockets on each turn (`curl_multi_poll`).
final class PollDriver: LoopDriver {
    private let multi: UnsafeMutableRawPointer
    private let waker: Waker
    private let clock: () -> Int64

    private var room: IdleConnectionLimit

    init(multi: UnsafeMutableRawPointer, waker: Waker, room: IdleConnectionLimit, clock: @escaping () -> Int64) {
        self.multi = multi
        self.waker = waker
        self.room = room
        self.clock = clock
    }

    func act(now: Int64) {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        room.keep(besides: running, in: multi)
    }

    func wait(timeout: Int64?, now: Int64) {
        var extra = curl_waitfd(fd: waker.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        // Without a limit of the loop libcurl still bounds the wait by its own timers.
        curl_multi_poll(multi, &extra, 1, Milliseconds.roundedUp(timeout ?? .max), nil)
        if extra.revents != 0 { waker.clear() }
        _ = clock()
    }

    func isSilent(_ descriptor: Int32) -> Bool { false }

    func takeUnwatched() -> [(descriptor: Int32, error: Int32)] { [] }

    func socketClosed(_ descriptor: Int32) {}

    func detach() {}
}

/// The conversion of waits to whole milliseconds, rounded up so that a deadline has passed when the wait ends.
enum Milliseconds {
    static func roundedUp(_ nanoseconds: Int64) -> Int32 {
        // An hour at most: a wait may always end early.
        Int32(min(max(0, nanoseconds), 3_600_000_000_000) / 1_000_000) + (nanoseconds % 1_000_000 > 0 ? 1 : 0)
    }
}
