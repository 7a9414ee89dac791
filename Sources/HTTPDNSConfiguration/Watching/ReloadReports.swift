// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import HTTPDNSCore
internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import Logging

/// The reports of a client on its reloads: the log lines, and the public status.
///
/// Successful operation logs nothing. A file that cannot be used is one warning for each cause, and its recovery a notice.
final class ReloadReports: Sendable {
    private let file: String
    private let logger: Logger?
    private let wallClock: WallClock
    private let state: Lock<HTTPDNSClient.ReloadStatus>
    private let permissions = Lock<String?>(nil)

    init(file: String, isWatching: Bool, logger: Logger?, wallClock: WallClock = .system) {
        self.file = file
        self.logger = logger
        self.wallClock = wallClock
        state = Lock(HTTPDNSClient.ReloadStatus(source: file, isWatching: isWatching))
    }

    var status: HTTPDNSClient.ReloadStatus { state.withLock { $0 } }

    /// Logs a warning about permissions of others on the file, once until they change.
    func notePermissions(_ fault: String?) {
        let isNews = permissions.withLock { known in
            defer { known = fault }
            return known != fault
        }
        guard isNews, let fault else { return }
        logger?.warning(
            "configuration file can be changed by others",
            metadata: ["file": .string(file), "reason": .string(fault)]
        )
    }

    func note(_ report: ConfigurationWatcher<HTTPDNSResolver.ReloadResult>.Report) {
        switch report {
        case .applied(let result): noteSuccess(result)
        case .unchanged: state.withLock { $0.failure = nil }
        case .failed(let error):
            let now = wallClock.now()
            state.withLock { state in
                state.failures += 1
                state.failure = HTTPDNSClient.ReloadStatus.Failure(time: now, message: Self.message(of: error))
            }
        case .warning(let error):
            logger?.warning("configuration file refused; previous settings stay in use", metadata: metadata(of: error))
        case .recovered:
            logger?.notice("configuration file in use again", metadata: ["file": .string(file)])
        case .polling:
            state.withLock { $0.isPolling = true }
            logger?.notice(
                "file change notifications are unavailable; the configuration file is checked every second",
                metadata: ["file": .string(file)]
            )
        }
    }

    private func noteSuccess(_ result: HTTPDNSResolver.ReloadResult) {
        let now = wallClock.now()
        let isNews = state.withLock { state in
            let before = state.lastSuccess?.needsRestart ?? []
            state.successes += 1
            state.failure = nil
            state.lastSuccess = HTTPDNSClient.ReloadStatus.Success(
                time: now,
                generation: result.generation,
                needsRestart: result.needsRestart
            )
            return !result.needsRestart.isEmpty && result.needsRestart != before
        }
        let generation = Logger.MetadataValue.stringConvertible(result.generation)
        logger?.debug("configuration file reloaded", metadata: ["file": .string(file), "generation": generation])
        guard isNews else { return }
        logger?.notice(
            "configuration file has changes that need a restart",
            metadata: ["file": .string(file), "keys": .array(result.needsRestart.map { .string($0) })]
        )
    }

    private static func message(of error: any Error) -> String {
        (error as? HTTPDNSClientError)?.message ?? "\(error)"
    }

    private func metadata(of error: any Error) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["file": .string(file)]
        if let error = error as? HTTPDNSConfigurationFileError, let first = error.issues.first {
            metadata["line"] = first.location.line.map { .stringConvertible($0) }
            metadata["column"] = first.location.column.map { .stringConvertible($0) }
            metadata["error"] = .string(first.message + (first.hint.map { " (\($0))" } ?? ""))
            let count = error.issues.count + error.omitted
            if count > 1 { metadata["issues"] = .stringConvertible(count) }
        } else {
            metadata["error"] = .string(Self.message(of: error))
        }
        return metadata
    }
}
#endif
