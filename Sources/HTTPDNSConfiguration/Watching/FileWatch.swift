#if YAML
internal import HTTPDNS
internal import HTTPDNSClient
internal import HTTPDNSPrimitives

/// A configuration file that a client follows.
final class FileWatch: ConfigurationWatch {
    private let watcher: ConfigurationWatcher<ReloadResult>
    private let reports: ReloadReports
    private let hangUp: HangUpSignal?

    init(
        _ source: FileConfigurationSource,
        for configuration: HTTPDNSClient.Configuration,
        applying apply: @escaping @Sendable (HTTPDNSClient.Configuration) async throws -> ReloadResult
    ) {
        let isWatching = configuration.watchesFile
        let reports = ReloadReports(
            file: source.name,
            isWatching: isWatching,
            logger: configuration.logger ?? configuration.resolver.logger
        )
        var settings = configuration
        settings.source = nil
        let renewal = SettingsRenewal(source, settings: settings, apply: apply)
        watcher = ConfigurationWatcher(
            LocalFile(source.path, name: source.name),
            events: isWatching ? source.events() : NoFileEvents(),
            reading: source.reading,
            isOnDemandOnly: !isWatching,
            apply: { try await renewal.apply($0) },
            report: { reports.note($0) }
        )
        self.reports = reports
        hangUp = configuration.reloadsOnHangUp ? HangUpSignal { [watcher] in watcher.requestRenewal() } : nil
        watcher.start()
    }

    var status: ReloadStatus { reports.status }

    func reload() async throws -> ReloadResult {
        do {
            return try await watcher.renew()
        } catch is ConfigurationWatcher<ReloadResult>.Ended {
            throw ConfigurationWatchEnded()
        }
    }

    func end() async {
        hangUp?.end()
        await watcher.end()
    }

    func cancel() {
        hangUp?.end()
        watcher.cancel()
    }
}

/// Turns a new content of the file into settings, and applies them. Called from the watcher's thread, one after the other.
private final class SettingsRenewal: Sendable {
    private let source: FileConfigurationSource
    /// What the client was made of.
    private let settings: HTTPDNSClient.Configuration
    private let apply: @Sendable (HTTPDNSClient.Configuration) async throws -> ReloadResult
    private let providers: Lock<LiveProviders>

    init(
        _ source: FileConfigurationSource,
        settings: HTTPDNSClient.Configuration,
        apply: @escaping @Sendable (HTTPDNSClient.Configuration) async throws -> ReloadResult
    ) {
        self.source = source
        self.settings = settings
        self.apply = apply
        providers = Lock(source.providers)
    }

    func apply(_ bytes: [UInt8]) async throws -> ReloadResult {
        let running = providers.withLock { $0 }
        var next = running
        let said = try FileConfigurationSource.parse(
            bytes,
            name: source.name,
            isInspecting: source.isInspecting,
            providers: &next
        )
        do {
            let result = try await apply(settings.renewed(from: source.settings, to: said))
            let applied = next
            providers.withLock { $0 = applied }
            return result
        } catch {
            next.end(except: running)
            throw error
        }
    }
}
#endif
