/// The intervals at which a watched file is read and failures are reported.
package struct WatchTiming: Hashable, Sendable {
    /// The time without changes before a file that was written in place is read.
    package var settling: Duration = .milliseconds(100)
    /// The same for a change without an event, after which a writer may still be active.
    package var unseenSettling: Duration = .seconds(1)
    /// The maximum delay of reading a file that differs at each check.
    package var unseenLimit: Duration = .seconds(5)
    /// The maximum delay of reading a file that is written again and again, and closed each time.
    package var settlingLimit: Duration = .seconds(1)
    /// The time that a writer may keep the file open without writing before it is read nevertheless.
    package var openLimit: Duration = .seconds(10)
    /// The time that a file must be invalid without a change before that is reported: half-written content is not reported.
    package var silence: Duration = .seconds(1)
    /// The time that a constantly changing file may be invalid before that is reported.
    package var silenceLimit: Duration = .seconds(5)
    /// The time after which an invalid file is read again without a change of its own, doubled each time: a file that it
    /// names (a CA file, a secret) may exist by now.
    package var retrying: Duration = .seconds(5)
    package var retryingLimit: Duration = .seconds(60)
    /// The interval of checks while there are no change events.
    package var polling: Duration = .seconds(2)

    package init() {}
}
