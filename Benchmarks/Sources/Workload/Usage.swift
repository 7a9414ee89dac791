// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Time at one moment: of the clock, and of the processors in this process with all its threads, user and system together.
struct Usage {
    var seconds: Double
    var processorSeconds: Double

    /// Now.
    static func now() -> Usage {
        Usage(seconds: clockSeconds(), processorSeconds: Self.seconds(CLOCK_PROCESS_CPUTIME_ID))
    }

    /// The time of the clock.
    static func clockSeconds() -> Double { seconds(CLOCK_MONOTONIC) }

    /// The time of the calendar.
    static func calendarSeconds() -> Double { seconds(CLOCK_REALTIME) }

    /// The most memory that this process had resident, in KiB.
    static func peakMemory() -> Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
