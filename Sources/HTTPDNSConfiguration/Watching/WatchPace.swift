/// The times by which a watched file is read and failures are told.
package struct WatchPace: Hashable, Sendable {
    /// How long a file that was written in place must be left alone before it is read.
    package var settling: Duration = .milliseconds(100)
    /// The same where no event told of the change, so that nobody knows whether a writer is at work.
    package var unseenSettling: Duration = .seconds(1)
    /// How long a file that is written again and again, and closed each time, may keep its reader waiting.
    package var settlingLimit: Duration = .seconds(1)
    /// How long a writer may keep the file open without writing before it is read all the same.
    package var openLimit: Duration = .seconds(10)
    /// How long a file must be bad without a change before that is told: what is half written is no news.
    package var silence: Duration = .seconds(1)
    /// How long a file that changes all the time may be bad before that is told.
    package var silenceLimit: Duration = .seconds(5)
    /// After how long a bad file is read again without a change of its own, doubled each time: what it names (a CA file, a
    /// secret) may be there by now.
    package var retrying: Duration = .seconds(5)
    package var retryingLimit: Duration = .seconds(60)
    /// How often the file is looked at where events do not tell of changes.
    package var polling: Duration = .seconds(2)

    package init() {}
}
