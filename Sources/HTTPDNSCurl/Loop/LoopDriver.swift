/// What waits for sockets and lets libcurl act on them. One loop has one driver; it lives on the loop's thread.
protocol LoopDriver: AnyObject {
    /// Lets libcurl do what is due: new transfers, and its own timers.
    func act(now: Int64)

    /// Waits until a socket, the waker or a timer of libcurl has something, or `timeout` nanoseconds are over (nil: no
    /// limit), and lets libcurl act on the sockets. The clock is read after the wait and before libcurl acts.
    func wait(timeout: Int64?, now: Int64)

    /// Whether nothing had arrived on a socket that libcurl does not wait for when the last wait ended; false where that is not known.
    func isSilent(_ descriptor: Int32) -> Bool

    /// The sockets that the kernel did not take to watch since the last call, and its error numbers.
    func takeUnwatched() -> [(descriptor: Int32, error: Int32)]

    /// libcurl is about to close a descriptor; its number may soon mean another socket.
    func socketClosed(_ descriptor: Int32)

    /// Lets go of libcurl, before the multi handle is freed.
    func detach()
}
