package import HTTPDNSCore

/// A function that puts settings in force. It calls `settings` when no other reload is in progress, and calls
/// `didApply` before the next reload begins; or it throws and changes nothing.
package typealias ApplySettings =
    @Sendable (
        _ settings: @Sendable () -> HTTPDNSClient.Configuration, _ didApply: @Sendable () -> Void
    ) async throws -> HTTPDNSResolver.ReloadResult

/// The source of settings, which may change while a client runs.
package protocol ConfigurationSource: Sendable {
    /// Starts watching for one client.
    /// - Parameters:
    ///   - settings: The client's settings: those of this source, with the changes that code made since.
    ///   - apply: Puts newer settings in force. It throws ``ConfigurationWatchEnded`` when the client is gone. Do not
    ///     call it on a thread that requests wait for.
    func watch(
        for settings: HTTPDNSClient.Configuration,
        applying apply:
            @escaping ApplySettings
    ) -> any ConfigurationWatch
}

/// A watch on a source for one client.
package protocol ConfigurationWatch: Sendable {
    /// The results so far.
    var status: HTTPDNSClient.ReloadStatus { get }

    /// Reads the source now, and applies its settings.
    /// - Throws: The errors of reading and applying; ``ConfigurationWatchEnded``; `CancellationError`.
    func reload() async throws -> HTTPDNSResolver.ReloadResult

    /// Makes settings from code the base for the next change of the source.
    func rebase(on settings: HTTPDNSClient.Configuration)

    /// Stops watching; nothing is applied afterwards. Idempotent.
    func end() async

    /// Stops watching without waiting for work in progress. Idempotent.
    func cancel()
}

/// The error after the client of a watch was shut down or released.
package struct ConfigurationWatchEnded: Error {
    package init() {}
}
