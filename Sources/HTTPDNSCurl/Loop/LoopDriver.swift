/// An object that waits for sockets and lets libcurl act on them. One loop has one driver; it lives on the loop's thread.
protocol LoopDriver: AnyObject {
    /// Lets libcurl process everything due: new transfers, and its own timers.
    func act(now: Int64)

    /// Waits for an event of a socket, the waker or a timer of libcurl, for at most `timeout` nanoseconds (`nil`: no limit).
    /// Then libcurl acts on the sockets. The clock is read after the wait and before libcurl acts.
    func wait(timeout: Int64?, now: Int64)

    /// Returns whether a socket without libcurl's interest had received nothing when the last wait ended; false where that is
    /// unknown.
    func isSilent(_ descriptor: Int32) -> Bool

    /// Returns the sockets that the kernel has refused to watch since the last call, and the error numbers.
    func takeUnwatched() -> [(descriptor: Int32, error: Int32)]

    /// Notes that libcurl is about to close a descriptor; its number may soon mean another socket.
    func socketClosed(_ descriptor: Int32)

    /// Releases libcurl, before the multi handle is freed.
    func detach()
}
