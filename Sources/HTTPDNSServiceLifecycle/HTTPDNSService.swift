// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if ServiceLifecycle
public import HTTPDNS
public import ServiceLifecycle
internal import UnixSignals

/// A service that runs a client in a service group of swift-service-lifecycle.
///
/// While it runs, SIGHUP makes a client whose settings came from a file read that file again. The client itself watches the
/// file and refreshes answers; it needs no service for that. At the group's graceful shutdown the client refuses new requests
/// and lets those in flight complete.
///
/// A group shuts its services down in the reverse order of their list. List this one before those that send requests, so that
/// they can still send while they shut down.
public struct HTTPDNSService: Service, CustomStringConvertible {
    private let client: HTTPDNSClient
    private let drainingTime: Duration
    private let reloadsOnHangUp: Bool

    /// Creates a service; ``run()`` starts it.
    /// - Parameters:
    ///   - client: The client, which is shut down at the end in every case.
    ///   - drainingTime: The time that requests in flight have after a graceful shutdown has begun. Zero cancels them
    ///     immediately. A group with a shorter `maximumGracefulShutdownDuration` cancels them then.
    ///   - reloadsOnHangUp: Whether SIGHUP makes the client read its file again. Pass `false` if another service of the group
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

    /// The name of the service in the group's log.
    public var description: String { "HTTPDNSService" }

    /// Whether it handles the signal SIGHUP. False for settings from code, for which the signal has no meaning, and when the
    /// client itself handles it.
    package var takesHangUp: Bool { reloadsOnHangUp && client.reloads.source != nil && !client.takesHangUp }

    /// Runs until the group's graceful shutdown or a cancellation, and then until the client is shut down.
    ///
    /// Outside of a group it ends by cancellation alone. An invalid file changes nothing, and does not end the service: the
    /// client's log and its `reloads` report it.
    /// - Throws: `CancellationError` when the task is canceled. Requests in flight are then canceled immediately, also during
    ///   a graceful shutdown.
    public func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            if takesHangUp {
                let hangUps = await UnixSignalsSequence(trapping: .sighup)
                group.addTask { [client] in
                    for await _ in hangUps { _ = try? await client.reload() }
                }
            }
            // It throws when the task is canceled. So does shutdown, which has then canceled the requests in flight.
            try? await gracefulShutdown()
            try? await client.shutdown(drainingFor: drainingTime)
            // Not before: an unhandled signal would end the process while it drains.
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}
#else
public import HTTPDNS

/// Not available in this build.
@available(*, unavailable, message: "the service needs the trait ServiceLifecycle of the package swift-httpdns")
public struct HTTPDNSService: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(client: HTTPDNSClient, drainingFor drainingTime: Duration = .zero, reloadsOnHangUp: Bool = true) {}
}
#endif
