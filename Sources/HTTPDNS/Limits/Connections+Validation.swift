// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration.OutlierEjection {
    fileprivate func validate() throws(HTTPDNSClientError) {
        let mistake: String? =
            if consecutive < 1 {
                "consecutive is \(consecutive); 1 is the least"
            } else if statuses.isEmpty || !statuses.allSatisfy((400...599).contains) {
                "statuses must be some of 400 to 599"
            } else if duration < .seconds(1) || maximumDuration < duration {
                "duration is \(duration.shortText) and maximumDuration \(maximumDuration.shortText); from 1s, the maximum last"
            } else {
                nil
            }
        if let mistake { throw .configuration("connections.ejection: \(mistake)") }
    }
}

extension HTTPDNSClient.Configuration.TCPKeepalive {
    fileprivate func validate() throws(HTTPDNSClientError) {
        for (name, time) in [("idle", idle), ("interval", interval)]
        where !HTTPDNSTransfer.TCPKeepalive.times.contains(time) {
            throw .configuration(
                "connections.tcpKeepalive.\(name) is \(time.shortText)",
                hint: "Linux accepts 1 s to 32,767 s; .off switches keepalive off"
            )
        }
        guard HTTPDNSTransfer.TCPKeepalive.counts.contains(count) else {
            throw .configuration("connections.tcpKeepalive.count is \(count)", hint: "Linux accepts 1 to 127")
        }
    }
}

extension HTTPDNSClient.Configuration.ActiveProbing {
    fileprivate func validate() throws(HTTPDNSClientError) {
        guard (.seconds(1)...(.seconds(24 * 3600))).contains(interval), maximumConcurrent >= 1 else {
            throw .configuration(
                "connections.probing: the interval is \(interval.shortText), maximumConcurrent \(maximumConcurrent)",
                hint: "the interval is 1 s to 24 h, and 1 is the least number"
            )
        }
    }
}

extension HTTPDNSClient.Configuration.Connections {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        guard Self.delays.contains(happyEyeballsDelay) else {
            throw .configuration(
                "connections.happyEyeballsDelay is \(happyEyeballsDelay.shortText)",
                hint: "10 ms is the least (RFC 8305 section 5), 60 s the most; 250 ms suits nearly everybody"
            )
        }
        for (name, value, least) in [
            ("idleTimeout", idleTimeout, Duration.seconds(1)), ("maximumAge", maximumAge, .seconds(2)),
            ("tcpUserTimeout", tcpUserTimeout ?? .seconds(1), .milliseconds(1)),
            ("addressStickiness", addressStickiness, .zero),
        ] where value < least {
            throw .configuration(
                "connections.\(name) is \(value.shortText)",
                hint: "\(least.shortText) is the least"
            )
        }
        try validateAdmission()
        try loops.validate()
        guard maximumIdle >= 1 else {
            throw .configuration(
                "connections.maximumIdle is \(maximumIdle)",
                hint: "set it to 1 or more; clients that send to several addresses need more"
            )
        }
        if let delay = hedgeAfter, !Self.delays.contains(delay) {
            throw .configuration(
                "connections.hedgeAfter is \(delay.shortText)",
                hint: "10 ms is the least, 60 s the most; a time near the slowest hundredth of answers suits"
            )
        }
        try tcpKeepalive.validate()
        try ejection?.validate()
        try probing?.validate()
    }

    /// The delays before another attempt or sending; the configuration file has the same limits.
    private static let delays: ClosedRange<Duration> = .milliseconds(10)...(.seconds(60))

    private func validateAdmission() throws(HTTPDNSClientError) {
        let counts = [
            ("maximumPerHost", maximumPerHost, 1), ("maximum", maximum, 1), ("maximumStreams", maximumStreams, 1),
            ("maximumQueued", maximumQueued, 0),
        ]
        for (name, limit, least) in counts {
            guard let limit, limit < least else { continue }
            throw .configuration(
                "connections.\(name) is \(limit)",
                hint: least == 0 ? "0 lets nobody wait" : "1 is the least, nil is no limit"
            )
        }
        if let queueWait, queueWait <= .zero {
            throw .configuration(
                "connections.queueWait is \(queueWait.shortText), and nobody could wait",
                hint: "for that set maximumQueued to 0; nil means until the deadline"
            )
        }
    }
}
