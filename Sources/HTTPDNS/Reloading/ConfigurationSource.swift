package import HTTPDNSCore

/// Makes settings take effect, which `settings` returns when no other reload is under way, calls `didApply` before the next
/// reload begins, or throws and changes nothing.
package typealias ApplySettings =
    @Sendable (
        _ settings: @Sendable () -> HTTPDNSClient.Configuration, _ didApply: @Sendable () -> Void
    ) async throws -> HTTPDNSResolver.ReloadResult

/// Where settings came from, and where newer ones may come from while a client runs.
package protocol ConfigurationSource: Sendable {
    /// Begins to watch on behalf of one client.
    /// - Parameters:
    ///   - settings: What the client was made of: what this source said, and what code changed in it since.
    ///   - apply: Makes newer settings take effect. It throws ``ConfigurationWatchEnded``
    ///     when the client is gone. Not to be called on a thread that requests wait for.
    func watch(
        for settings: HTTPDNSClient.Configuration,
        applying apply:
            @escaping ApplySettings
    ) -> any ConfigurationWatch
}

/// A source that is watched for one client.
package protocol ConfigurationWatch: Sendable {
    /// What came of it so far.
    var status: HTTPDNSClient.ReloadStatus { get }

    /// Reads the source now, and applies what it says.
    /// - Throws: What reading or applying throws; ``ConfigurationWatchEnded``; `CancellationError`.
    func reload() async throws -> HTTPDNSResolver.ReloadResult

    /// Takes settings that code has put in use as those that the next change of the source changes.
    func rebase(on settings: HTTPDNSClient.Configuration)

    /// Ends watching; nothing is applied after it. Idempotent.
    func end() async

    /// Ends watching without waiting for what is under way. Idempotent.
    func cancel()
}

/// The client that a source was watched for is shut down or gone.
package struct ConfigurationWatchEnded: Error {
    package init() {}
}
