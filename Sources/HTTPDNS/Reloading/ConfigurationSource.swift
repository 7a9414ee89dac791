// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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

extension HTTPDNSClient {
    /// The results of a client's reloads, see ``HTTPDNSClient/reloads``.
    public struct ReloadStatus: Hashable, Sendable {
        /// Settings that took effect.
        public struct Success: Hashable, Sendable {
            /// The time, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// The generation from which they are in force.
            public var generation: UInt64
            /// The settings that differ from those in use and take effect only after a restart, by their names in the
            /// file.
            public var needsRestart: [String]

            /// Creates a record.
            public init(time: Int64, generation: UInt64, needsRestart: [String] = []) {
                self.time = time
                self.generation = generation
                self.needsRestart = needsRestart
            }
        }

        /// Settings that could not be used.
        public struct Failure: Hashable, Sendable {
            /// The time at which they were last read, in milliseconds since 1970-01-01 00:00 UTC.
            public var time: Int64
            /// The errors, one line each, with file, line and column.
            public var message: String

            /// Creates a record.
            public init(time: Int64, message: String) {
                self.time = time
                self.message = message
            }
        }

        /// The file; nil for settings that came from code.
        public var source: String?
        /// Whether changes of the file are noticed automatically.
        public var isWatching: Bool
        /// Whether the system reports no changes (the limits of inotify are reached), so that only the check of each second finds them.
        public var isPolling = false
        /// The last settings that took effect since the client was made; nil before there were any.
        public var lastSuccess: Success?
        /// The reason why the present content of the source is not in use; nil while it is.
        public var failure: Failure?
        /// The number of times that newer settings took effect.
        public var successes: UInt64 = 0
        /// The number of times that the settings could not be used.
        public var failures: UInt64 = 0

        /// Creates the state before the first reload.
        public init(source: String? = nil, isWatching: Bool = false) {
            self.source = source
            self.isWatching = isWatching
        }
    }
}
