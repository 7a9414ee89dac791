// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import HTTPDNSCore
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A configuration file that a client follows.
final class FileWatch: ConfigurationWatch {
    private let watcher: ConfigurationWatcher<HTTPDNSResolver.ReloadResult>
    private let renewal: SettingsRenewal
    private let reports: ReloadReports
    private let hangUp: RunningSource?

    init(
        _ source: FileConfigurationSource,
        for configuration: HTTPDNSClient.Configuration,
        applying apply: @escaping ApplySettings
    ) {
        let isWatching = configuration.watchesFile
        let reports = ReloadReports(
            file: source.file.name,
            isWatching: isWatching,
            logger: configuration.logger ?? configuration.resolver.logger
        )
        renewal = SettingsRenewal(source, settings: configuration, reports: reports, apply: apply)
        reports.notePermissions(FilePermissions.fault(source.file.path)?.reason)
        watcher = source.file.watcher(
            isOnDemandOnly: !isWatching,
            prepare: { [renewal] in try renewal.prepare($0) },
            report: { reports.note($0) }
        )
        self.reports = reports
        hangUp = configuration.reloadsOnHangUp ? RunningSource.hangUp { [watcher] in watcher.requestRenewal() } : nil
        watcher.start()
    }

    var status: HTTPDNSClient.ReloadStatus { reports.status }

    func reload() async throws -> HTTPDNSResolver.ReloadResult {
        do {
            return try await watcher.renew()
        } catch is ConfigurationWatcher<HTTPDNSResolver.ReloadResult>.Ended {
            throw ConfigurationWatchEnded()
        }
    }

    func rebase(on settings: HTTPDNSClient.Configuration) { renewal.rebase(on: settings) }

    func end() async {
        hangUp?.cancel()
        await watcher.end()
    }

    func cancel() {
        hangUp?.cancel()
        watcher.cancel()
    }
}

/// The part that converts new content of the file to settings, and applies them, one after the other.
private final class SettingsRenewal: Sendable {
    private struct State: Sendable {
        /// The settings that the client was created with, or that code has put in use since.
        var settings: HTTPDNSClient.Configuration
        /// The file's content when ``settings`` were put in use.
        var base: HTTPDNSClient.Configuration
        /// The file's content when it was applied last.
        var said: HTTPDNSClient.Configuration
        var providers: LiveProviders

        func renewed(to said: HTTPDNSClient.Configuration) -> HTTPDNSClient.Configuration {
            var renewed = settings.renewed(from: base, to: said)
            renewed.source = nil
            return renewed
        }
    }

    private let source: FileConfigurationSource
    private let reports: ReloadReports
    private let apply: ApplySettings
    private let state: Lock<State>

    init(
        _ source: FileConfigurationSource,
        settings: HTTPDNSClient.Configuration,
        reports: ReloadReports,
        apply: @escaping ApplySettings
    ) {
        self.source = source
        self.reports = reports
        self.apply = apply
        state = Lock(
            State(settings: settings, base: source.settings, said: source.settings, providers: source.providers)
        )
    }

    func prepare(_ bytes: [UInt8]) throws -> ConfigurationWatcher<HTTPDNSResolver.ReloadResult>.Prepared {
        let settings = try FileConfigurationSource.fileSettings(bytes, name: source.file.name)
        let former = Lock<HTTPDNSMappings?>(nil)
        return ConfigurationWatcher.Prepared {
            try await self.apply(settings) { mappings in former.withLock { $0 = mappings } }
        } release: {
            HTTPDNSMappings.free(former.withLock { $0.take() })
        }
    }

    /// - Parameter retire: A function that receives the mappings that were replaced.
    private func apply(
        _ settings: FileSettings,
        retire: @Sendable (HTTPDNSMappings?) -> Void
    ) async throws -> HTTPDNSResolver.ReloadResult {
        let running = state.withLock { $0.providers }
        var next = running
        let (said, _) = try FileConfigurationSource.configuration(
            settings,
            name: source.file.name,
            path: source.file.path,
            isInspecting: source.isInspecting,
            refusesOpenFile: source.refusesOpenFile,
            providers: &next
        )
        reports.notePermissions(FilePermissions.fault(source.file.path)?.reason)
        do {
            let applied = next
            return try await apply {
                state.withLock { $0 }.renewed(to: said)
            } _: {
                retire(
                    state.withLock { state in
                        defer {
                            state.said = said
                            state.providers = applied
                        }
                        return state.said.resolver.indexedMappings
                    }
                )
            }
        } catch {
            next.end(except: running)
            throw error
        }
    }

    /// Keeps the settings that differ from the present ones of the file.
    func rebase(on settings: HTTPDNSClient.Configuration) {
        // The former settings have objects of the caller, such as interceptors: they are released after the lock.
        state.change { state in
            state.settings = settings
            state.base = state.said
        }
    }
}
#endif
