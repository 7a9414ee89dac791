package import HTTPDNSPrimitives
package import Logging

/// Settings of a transport, fixed for its life.
package struct TransportConfiguration: Sendable {
    package enum Driver: Hashable, Sendable, CaseIterable {
        /// epoll with lazy deregistration (Linux only).
        case epoll
        /// `curl_multi_poll`, everywhere.
        case poll

        package static var platformDefault: Driver {
            #if os(Linux)
            .epoll
            #else
            .poll
            #endif
        }
    }

    package var trustRoots: TrustRoots = .system
    package var driver: Driver = .platformDefault
    /// How many connections are kept open for later requests.
    package var maximumIdleConnections = 1024
    package var logger: Logger?
    /// The loop thread's name, at most 15 bytes on Linux.
    package var threadName = "httpdns-loop"

    package init() {}
}

/// One loop thread that owns libcurl's multi handle: pinned transfers in, streamed responses out.
///
/// The thread starts with the first transfer. No code of the caller ever runs on it.
package final class Transport: Sendable {
    package init(_ configuration: TransportConfiguration = TransportConfiguration()) {
        fatalError("seam")
    }

    /// Sends one hop and returns at the head of its response.
    /// - Throws: ``TransferFailure``; `CancellationError` when the task is cancelled.
    package func execute(_ request: TransferRequest) async throws -> TransferResponse {
        fatalError("seam")
    }

    /// Refuses new transfers, lets those in flight end until `deadline`, cuts the rest, ends the thread. Idempotent.
    package func shutdown(drainingFor duration: Duration = .zero) async {
        fatalError("seam")
    }
}
