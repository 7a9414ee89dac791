// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Logging

/// A log of events: constant messages, with the details as metadata.
///
/// Normal events are logged at debug or trace level. A quarantine is a warning, and its end is logged at info level. A failing
/// store is a warning once for each cause, until it works again.
struct EventLog: Sendable {
    private let logger: Logger
    private let warnedStoreFailures = SeenCauses()

    init(_ logger: Logger) { self.logger = logger }

    /// Returns whether an event of this kind needs logging: its level is enabled, or it ends a logged condition.
    func wants(_ kind: HTTPDNSResolver.Event.Kind) -> Bool {
        logger.logLevel <= EventLog.level(of: kind) || kind == .snapshotSaved
    }

    /// Logs an event. Never under a lock: the log handler is user code.
    func write(_ event: HTTPDNSResolver.Event) {
        var level = EventLog.level(of: event.kind)
        if event.kind == .storeFailed, !warnedStoreFailures.insert(event.code ?? "") { level = .debug }
        if event.kind == .snapshotSaved { warnedStoreFailures.removeAll() }
        guard logger.logLevel <= level else { return }
        logger.log(level: level, EventLog.message(for: event.kind), metadata: EventLog.metadata(of: event))
    }

    /// Returns the level at which a kind of event is logged the first time.
    static func level(of kind: HTTPDNSResolver.Event.Kind) -> Logger.Level {
        switch kind {
        case .providerQuarantined, .storeFailed, .switchedOff: .warning
        case .providerRecovered, .switchedOn, .reloaded: .info
        case .failed, .refreshFailed, .servedStale, .changed, .providerFailed, .restored, .cleared, .snapshotSaved,
            .shadowDiffered, .lastResort:
            .debug
        default: .trace
        }
    }

    private static func message(for kind: HTTPDNSResolver.Event.Kind) -> Logger.Message {
        switch kind {
        case .answered: "name resolved"
        case .failed: "name not resolved"
        case .refreshStarted: "cached answer is refreshed"
        case .refreshed: "cached answer renewed"
        case .refreshFailed: "cached answer could not be renewed"
        case .servedStale: "answer past its time to live serves"
        case .changed: "name has other addresses"
        case .providerFailed: "provider failed"
        case .providerQuarantined: "provider is backing off after failures"
        case .providerRecovered: "provider answers again"
        case .evicted: "cached answers were evicted"
        case .restored: "answers restored from the store"
        case .snapshotSaved: "cache saved to the store"
        case .storeFailed: "store failed; going on without it"
        case .cleared: "cache cleared"
        case .reloaded: "other settings are in use"
        case .switchedOff: "switched off: the system path is taken"
        case .switchedOn: "switched on again"
        case .shadowDiffered: "providers and system resolver differ"
        case .lastResort: "addresses of last resort serve"
        default: "resolver event"
        }
    }

    private static func metadata(of event: HTTPDNSResolver.Event) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        metadata["host"] = event.host.map { .string($0.description) }
        metadata["route"] = event.route.map { .string($0) }
        metadata["provider"] = event.provider.map { .string($0) }
        metadata["source"] = event.source.map { .string($0.description) }
        if !event.addresses.isEmpty { metadata["addresses"] = .array(event.addresses.map { .string("\($0)") }) }
        if !event.previousAddresses.isEmpty {
            metadata["previous"] = .array(event.previousAddresses.map { .string("\($0)") })
        }
        metadata["elapsed"] = event.elapsed.map { .string($0.shortText) }
        metadata["duration"] = event.duration.map { .string($0.shortText) }
        metadata["error"] = event.code.map { .string($0) }
        metadata["message"] = event.message.map { .string($0) }
        metadata["count"] = event.count.map { .stringConvertible($0) }
        return metadata
    }
}

/// The causes that were logged already. Their number is limited: there are few codes, and further invented ones are not logged.
final class SeenCauses: Sendable {
    private static let limit = 64

    private let causes = Lock<Set<String>>([])

    /// Adds a cause.
    /// - Returns: Whether the cause is new.
    func insert(_ cause: String) -> Bool {
        causes.withLock { $0.count < SeenCauses.limit && $0.insert(cause).inserted }
    }

    func removeAll() { causes.withLock { $0.removeAll() } }
}
