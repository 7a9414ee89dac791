// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The start of a call and its time limits.
struct CallTime: Sendable {
    let start: MonotonicTime
    /// The limit for the call with its body.
    let limit: Duration?
    /// The limit for the response head, from ``headStart`` on.
    let headLimit: Duration?
    private var headStart: MonotonicTime

    /// Creates the times of a call that starts now.
    init(total: Duration? = nil, responseHead: Duration? = nil) {
        start = SystemTimeSource().now()
        headStart = start
        (limit, headLimit) = (total, responseHead)
    }

    init(_ timeouts: HTTPDNSClient.Timeouts) { self.init(total: timeouts.total, responseHead: timeouts.responseHead) }

    /// The moment at which the body must have ended.
    var deadline: MonotonicTime? { limit.map { start + $0 } }
    /// The moment at which the head must have arrived.
    var headDeadline: MonotonicTime? { headLimit.map { headStart + $0 } }
    /// The moment at which everything before the head must have ended.
    var firstDeadline: MonotonicTime? {
        guard let head = headDeadline else { return deadline }
        return deadline.map { min($0, head) } ?? head
    }
    /// The limit that ``firstDeadline`` is computed from.
    var firstLimit: Duration? { firstDeadline == deadline ? limit : headLimit }
    var elapsed: Duration { SystemTimeSource().now() - start }

    /// Restarts the time for the head after a hop.
    /// - Parameter request: The request of the hop. A long body must not use the time of the next hop.
    mutating func restartHeadTime(after request: HTTPDNSClient.Request) {
        if !request.body.isEmpty { headStart = SystemTimeSource().now() }
    }
}
