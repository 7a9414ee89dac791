#if ServiceLifecycle
public import HTTPDNS
public import ServiceLifecycle
internal import UnixSignals

/// The life of a client in a service group of swift-service-lifecycle.
///
/// While it runs, SIGHUP makes a client whose settings came from a file read that file again. Watching the file and keeping
/// answers fresh are the client's own work, and need no service. At the group's graceful shutdown the client refuses new
/// requests and lets those in flight end.
///
/// A group ends its services in the opposite order of their list. List this one before those that send requests, so that
/// they can still send while they end.
public struct HTTPDNSService: Service, CustomStringConvertible {
    private let client: HTTPDNSClient
    private let drainingTime: Duration
    private let reloadsOnHangUp: Bool

    /// Creates a service; ``run()`` makes it work.
    /// - Parameters:
    ///   - client: The client, which is shut down at the end whatever the end is.
    ///   - drainingTime: How long requests in flight may go on after a graceful shutdown has begun. Zero cuts them at once. A
    ///     group with a `maximumGracefulShutdownDuration` below it cuts them then.
    ///   - reloadsOnHangUp: Whether SIGHUP makes the client read its file again. Pass `false` where another service of the group
    ///     handles the signal.
    public init(
        client: HTTPDNSClient,
        drainingFor drainingTime: Duration = .seconds(10),
        reloadsOnHangUp: Bool = true
    ) {
        self.client = client
        self.reloadsOnHangUp = reloadsOnHangUp
        self.drainingTime = drainingTime
    }

    /// The name that a service group logs it by.
    public var description: String { "HTTPDNSService" }

    /// Whether it takes the signal SIGHUP. Not so for settings from code, for which the signal has no meaning, and not when
    /// the client takes it by itself.
    package var takesHangUp: Bool { reloadsOnHangUp && client.reloads.source != nil && !client.takesHangUp }

    /// Lasts until the group's graceful shutdown or a cancellation, and then until the client is shut down. Called outside of
    /// a group, it ends by cancellation alone.
    ///
    /// A file that cannot be used changes nothing, and does not end the service: the client's log and its `reloads` tell.
    /// - Throws: `CancellationError` when the task is cancelled; what is in flight is then cut at once, also while it drains.
    public func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            if takesHangUp {
                let hangUps = await UnixSignalsSequence(trapping: .sighup)
                group.addTask { [client] in
                    for await _ in hangUps { _ = try? await client.reload() }
                }
            }
            // It throws when the task is cancelled, and so does shutdown, which has then cut what was in flight.
            try? await gracefulShutdown()
            try? await client.shutdown(drainingFor: drainingTime)
            // Not before: a signal that nobody takes would end the process while it drains.
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}
#else
internal import HTTPDNS

/// Not in this build.
@available(*, unavailable, message: "the service needs the trait ServiceLifecycle of the package swift-httpdns")
public struct HTTPDNSService: Sendable {}
#endif
