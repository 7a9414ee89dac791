internal import HTTPDNSPrimitives

/// How often asking failed in a row, and until when it is too early to ask again.
package struct AnswerFailure: Sendable {
    var count: Int
    var error: HTTPDNSResolver.Error
    var failedAt: MonotonicTime
    var retryAt: MonotonicTime
    /// Whether the system resolver was spared, because a stale answer could serve.
    var spared = false
}
