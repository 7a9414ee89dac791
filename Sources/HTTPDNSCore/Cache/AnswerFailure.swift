internal import HTTPDNSPrimitives

/// The number of failed lookups in a row, and the time before which the name is not looked up again.
package struct AnswerFailure: Sendable {
    var count: Int
    var error: HTTPDNSResolver.Error
    var failedAt: MonotonicTime
    var retryAt: MonotonicTime
    /// Whether the system resolver was not queried, because a stale answer could be served.
    var spared = false
}
