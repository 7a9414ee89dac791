// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Logging
internal import Synchronization

extension HTTPDNSResolver {
    /// Replaces the settings while the resolver runs: all of them or, if one is invalid, none.
    ///
    /// - Live settings are mappings, routes, policy, providers and their limits, families, time limits, and the cache's times.
    ///   The next query uses all of the new settings. A lookup in flight completes with the settings it began with, and no
    ///   later query waits for it.
    /// - The mappings become the base (``HTTPDNSMappingStore/replaceBase(with:)``); the overlay applied to it stays.
    /// - A provider that is equivalent to the one in use under its name (``HTTPDNSProvider/isEquivalent(to:)``) stays in use
    ///   with its health, and the new one is released. A provider that the settings no longer contain is shut down when its
    ///   last lookup in flight has ended, unless another resolver of the process uses it. Settings with a provider that is shut
    ///   down are invalid.
    /// - Cached answers stay in use, stale ones too, as far as the new settings allow them. Limits, families and the policy of
    ///   the new settings apply to them. The answers of a provider go when no provider of the name's route queries the same
    ///   service for the same account and region, or when the route's client subnet changes. A negative answer also goes when
    ///   the providers of its route change.
    /// - Settings equal to those in use change nothing, and do not advance the generation.
    ///
    /// The new state is prepared outside of all locks before it is published, so that no query waits for it.
    /// - Returns: The generation from which on the settings hold, and the settings that need a restart.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError``, as ``init(_:)``. Also when base and overlay together have `via` rules
    ///   in a circle, and after ``shutdown()``. Nothing has changed then.
    @discardableResult
    public func reload(_ settings: HTTPDNSResolver.Configuration) throws(HTTPDNSResolver.ConfigurationError)
        -> HTTPDNSResolver.ReloadResult
    {
        try reload(settings, isEnabled: nil)
    }

    /// Replaces the settings as ``reload(_:)`` does.
    /// - Parameters:
    ///   - isEnabled: Whether the file has everything switched on; nil means no change.
    ///   - place: A function that calls its argument, together with everything else of the same step. The argument puts the
    ///     settings in use and returns whether it did. It is not called when nothing changes.
    @discardableResult
    package func reload(
        _ settings: HTTPDNSResolver.Configuration,
        isEnabled: Bool?,
        placing place: (_ install: () -> Bool) -> Void = { _ = $0() }
    ) throws(HTTPDNSResolver.ConfigurationError) -> HTTPDNSResolver.ReloadResult {
        var settings = settings
        // The clock of cached data cannot change.
        settings.timeSource = fixed.timeSource
        let base = try HTTPDNSMappings(settings: settings)
        let needsRestart = fixed.differencesThatNeedARestart(from: settings)
        defer { settleSwitch() }
        while true {
            if live.isClosed {
                throw HTTPDNSResolver.ConfigurationError.shutDown
            }
            let present = live.current
            let isEnabled = isEnabled ?? present.resolving.isEnabled
            let keepsResolving = present.resolving.equals(settings, isEnabled: isEnabled)
            let keepsBase = present.mappings.index.base.rules == base.index.base.rules
            if keepsResolving, keepsBase {
                retryRefusedAccounts()
                let generation = present.mappings.generation
                return HTTPDNSResolver.ReloadResult(
                    generation: generation,
                    isChanged: false,
                    needsRestart: needsRestart
                )
            }
            let resolving =
                keepsResolving
                ? present.resolving
                : try ResolvingSettings(
                    settings,
                    isEnabled: isEnabled,
                    replacing: present.resolving,
                    counting: counting
                ) {
                    HTTPDNSResolver.pool($0, $1, replacing: $2, observer: attemptObserver, random: random)
                }
            let mappings: HTTPDNSMappings
            do {
                mappings = keepsBase ? present.mappings : try present.mappings.rebased(on: base)
            } catch {
                throw HTTPDNSResolver.ConfigurationError(error)
            }
            // Names that are turned off are off before the new settings are visible, and names that are turned on are on after
            // that.
            killSwitch.setFile(resolving.switchedOff, keeping: true)
            directory.add(resolving.configuration.providers)
            var installed: LiveSettings?
            place {
                installed = live.install(mappings: mappings, resolving: resolving, after: present)
                return installed != nil
            }
            guard let next = installed else { continue }
            finish(next, replacing: present.resolving)
            retryRefusedAccounts()
            return HTTPDNSResolver.ReloadResult(
                generation: next.mappings.generation,
                isChanged: true,
                needsRestart: needsRestart
            )
        }
    }

    /// Sends one query each to vendors that refused an account: a change in the vendor's console shows in no setting.
    private func retryRefusedAccounts() {
        let resolving = live.current.resolving
        let providers = resolving.configuration.providers.filter {
            ($0 as? any AccountHolding)?.retryRefusedAccount() ?? false
        }
        resolving.pool.endRests(of: providers.map(\.name))
    }

    /// Makes the kill switch follow the file settings in use. Of several concurrent reloads the last one in place decides,
    /// regardless of the order of calls here.
    private func settleSwitch() {
        var settled = live.current
        while true {
            killSwitch.setFile(settled.resolving.switchedOff)
            let current = live.current
            if current === settled { return }
            settled = current
        }
    }

    /// Completes a reload once new settings are in use.
    private func finish(_ next: LiveSettings, replacing old: ResolvingSettings) {
        let new = next.resolving
        if new !== old {
            let gone = old.leases.filter { lease in !new.leases.contains { $0 === lease } }
            for lease in gone { lease.retire() }
            let names = Set(new.leases.map(\.provider.name))
            attemptObserver.forget(gone.map(\.provider.name).filter { !names.contains($0) })
            retired.add(pool: new.pool === old.pool ? nil : old.pool, leases: gone)
            if new.version % ResolvingSettings.versionsPerClearing == 0 { removeAllCached() }
        }
        observation.tell(.reloaded) { $0.count = Int(clamping: next.mappings.generation) }
        // A shutdown in between did not know these providers.
        guard live.isClosed else { return }
        new.pool.shutdown()
        Task.detached { for lease in new.leases { await lease.end() } }
    }
}

extension HTTPDNSResolver.ConfigurationError {
    /// The error for a change of settings after the shutdown.
    static let shutDown = HTTPDNSResolver.ConfigurationError(
        message: "the resolver is shut down, and takes no other settings"
    )
}

extension HTTPDNSResolver.Configuration {
    /// Returns the names of the settings that differ and are not live.
    fileprivate func differencesThatNeedARestart(from other: HTTPDNSResolver.Configuration) -> [String] {
        var names: [String] = []
        if cache.entries != other.cache.entries { names.append("cache.entries") }
        if cache.bytes != other.cache.bytes { names.append("cache.bytes") }
        if snapshotPath != other.snapshotPath { names.append("cache.snapshot") }
        if (store == nil) != (other.store == nil) { names.append("store") }
        if systemThreads != other.systemThreads { names.append("resolver.system_threads") }
        if preresolve != other.preresolve { names.append("cache.preresolve") }
        if logger?.label != other.logger?.label || logger?.logLevel != other.logger?.logLevel { names.append("logger") }
        return names.sorted()
    }
}

extension HTTPDNSResolver {
    /// The result of a reload.
    public struct ReloadResult: Hashable, Sendable {
        /// The generation from which on the new settings hold; the previous one when nothing changed.
        public var generation: UInt64
        /// Whether a live setting changed.
        public var isChanged: Bool
        /// The changed settings that take effect only at the next start, sorted.
        ///
        /// They are named as in the configuration file, or as in ``HTTPDNSResolver/Configuration`` where the file has no key
        /// for them.
        public var needsRestart: [String]

        /// Creates a result.
        public init(generation: UInt64, isChanged: Bool, needsRestart: [String] = []) {
            self.generation = generation
            self.isChanged = isChanged
            self.needsRestart = needsRestart
        }
    }
}
