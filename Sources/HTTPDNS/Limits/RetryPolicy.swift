// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// A policy for repeating a request that failed, or that the server could not handle at the time.
    ///
    /// A retry repeats one hop under the call's one deadline: its host is resolved again, and the redirects that led to
    /// it are not followed again. It starts after all addresses have failed; trying one address after another is not a
    /// retry.
    ///
    /// A request that may have reached the server is repeated only if its method is one of ``methods`` or it has an
    /// `Idempotency-Key`. A request is never repeated when part of its body stream has been read.
    public struct RetryPolicy: Hashable, Sendable {
        /// A limit on the retries among a client's requests, so that a failing service does not get a multiple of its
        /// load (``HTTPDNSClient/Configuration/retryBudget``). A retry that is canceled before it is sent, or that waits
        /// for a connection in vain, does not count.
        public struct Budget: Hashable, Sendable {
            /// The number of retries for every 100 calls, counted over the last 10 seconds; 0 to 1,000.
            public var percent = 20
            /// The additional retries per second, so that a client with few calls can retry at all; 0 to 100,000.
            public var perSecond = 10

            /// Creates the default: a fifth of the calls, and ten a second.
            public init() {}
        }

        /// The maximum number of retries of one hop, 0 to 100; 0 means never.
        public var limit = 2
        /// The methods that can be repeated without harm (RFC 9110 section 9.2.2). Other requests are repeated only if
        /// nothing of them can have reached the server, or if they have an `Idempotency-Key`.
        public var methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
        /// The statuses after which such a request is repeated.
        public var statuses: Set<Int> = [408, 425, 429, 502, 503, 504]
        /// The errors after which a request is repeated. By default these are failed and broken connections, and
        /// timeouts except that of the whole call.
        public var errors: Set<HTTPDNSClientError.Code> = [
            .connectFailed, .proxyUnreachable, .connectionLost, .timedOut,
        ]
        /// The maximum of the first wait, which is random. The maximum doubles with each further wait.
        public var delay: Duration = .milliseconds(100)
        /// The upper bound of that maximum.
        public var maximumDelay: Duration = .seconds(5)
        /// The longest `Retry-After` that the client waits for. With a longer one, or one beyond the call's deadline,
        /// the response is returned immediately.
        public var maximumRetryAfter: Duration = .seconds(30)
        /// The time from the first failure for which a request waits for the network: it is repeated while no address accepts
        /// a connection, or the name cannot be resolved, and nothing of it can have been sent. A name that does not exist is
        /// an answer, and is not waited for. Zero, the default, does not wait.
        ///
        /// These repetitions count neither for ``limit`` nor for the budget, and need no idempotent method. The waits between
        /// them double from ``delay`` to ``maximumDelay``, and are 100 ms at least. The last try is at the end of the time. A
        /// deadline of the call that is earlier ends them.
        ///
        /// ```swift
        /// request.changeOptions { $0.retries.networkWait = .seconds(30) }
        /// ```
        public var networkWait: Duration = .zero

        /// Creates a policy of two retries.
        public init() {}

        /// A policy of two retries, with full jitter from 100 ms on.
        public static let standard = HTTPDNSClient.RetryPolicy()

        /// A policy without retries.
        public static let off: HTTPDNSClient.RetryPolicy = {
            var policy = HTTPDNSClient.RetryPolicy()
            policy.limit = 0
            return policy
        }()
    }
}

extension HTTPDNSClient.RetryPolicy {
    /// Whether no request is repeated.
    var isOff: Bool { limit <= 0 && networkWait <= .zero }

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        guard (0...100).contains(limit) else {
            throw .configuration("retries.limit is \(limit)", hint: "0 to 100")
        }
        for (name, value) in [
            ("delay", delay), ("maximumDelay", maximumDelay), ("maximumRetryAfter", maximumRetryAfter),
            ("networkWait", networkWait),
        ]
        where value < .zero {
            throw .configuration("retries.\(name) is \(value.shortText)", hint: "zero is the least")
        }
    }
}

extension HTTPDNSClient.RetryPolicy.Budget {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        for (name, value, range) in [("percent", percent, 0...1000), ("perSecond", perSecond, 0...100_000)]
        where !range.contains(value) {
            throw .configuration("retryBudget.\(name) is \(value)", hint: "\(range.lowerBound) to \(range.upperBound)")
        }
    }
}

/// The number of retries that a client may still send: a share of its calls over the last two windows, and some for
/// each second.
///
/// Two alternating windows count about as well as an exact record of each call, and cost nothing per call. They advance
/// when a retry is requested; calls of a longer time without one count by their average.
struct RetryBudget {
    /// Half of the observed time, in seconds.
    static let window = 5

    private struct Count {
        var calls: UInt64 = 0
        var retries = 0
    }

    private var begun: MonotonicTime
    /// The number of all calls at the start of the present window.
    private var callsBefore: UInt64 = 0
    private var last = Count()
    private var retries = 0

    init(at now: MonotonicTime) { begun = now }

    /// Takes one retry, if one is left.
    /// - Parameter calls: The number of all calls of the client so far.
    mutating func take(_ budget: HTTPDNSClient.RetryPolicy.Budget, calls: UInt64, at now: MonotonicTime) -> Bool {
        turn(calls: calls, at: now)
        let counted = last.calls + since(callsBefore, calls)
        let bySeconds = budget.perSecond * 2 * RetryBudget.window
        let byCalls = Int(clamping: counted) * budget.percent / 100
        guard last.retries + retries < bySeconds + byCalls else { return false }
        retries += 1
        return true
    }

    /// Returns a retry that was not sent.
    mutating func giveBack() {
        // The window may have advanced since it was taken.
        if retries > 0 { retries -= 1 } else if last.retries > 0 { last.retries -= 1 }
    }

    private mutating func turn(calls: UInt64, at now: MonotonicTime) {
        let elapsed = now - begun
        guard elapsed >= .seconds(RetryBudget.window) else { return }
        let window = Duration.seconds(RetryBudget.window)
        last = Count(calls: since(callsBefore, calls), retries: retries)
        if elapsed >= window * 2 {
            // The windows did not advance for so long because nothing failed, not because there were no calls.
            last = Count(calls: UInt64(Double(last.calls) * (window / elapsed)), retries: 0)
        }
        begun = now
        callsBefore = max(callsBefore, calls)
        retries = 0
    }

    /// Returns zero when the number is older than the one it is compared with: another thread has advanced the window
    /// meanwhile.
    private func since(_ before: UInt64, _ calls: UInt64) -> UInt64 { calls > before ? calls - before : 0 }
}
