public import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// What came of reading the settings again: the last success, and the mistake that keeps the present file from being
    /// used. Cheap enough for every second.
    public var reloads: HTTPDNSClient.ReloadStatus { watch.withLock { $0 }?.status ?? HTTPDNSClient.ReloadStatus() }

    /// Reads the file again that the settings came from, and applies it: all of it or, with a mistake, nothing.
    ///
    /// It is for who wants to know how it went; a change of the file is noticed without it. What code changed in the
    /// settings after the file was read stays as code has it.
    /// - Returns: From which generation on the settings hold, and what needs a restart.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` when the file cannot be used or the settings came from no
    ///   file, with code `shutDown` after ``shutdown(drainingFor:)``; `CancellationError`. Nothing has changed then.
    @discardableResult
    public func reload() async throws -> HTTPDNSResolver.ReloadResult {
        guard let watch = watch.withLock({ $0 }) else {
            throw HTTPDNSClientError.configuration(
                "the settings of this client came from no file",
                hint: "give new ones to reload(_:)"
            )
        }
        do {
            return try await watch.reload()
        } catch is ConfigurationWatchEnded {
            throw HTTPDNSClientError.shutDown
        } catch let error where !(error is HTTPDNSClientError || error is CancellationError) {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
    }

    /// Begins to follow the source of the settings, if they have one.
    func startWatching(_ configuration: Configuration) {
        guard let source = configuration.source else { return }
        let watch = source.watch(for: configuration) { [weak self] settings, didApply in
            guard let self else { throw ConfigurationWatchEnded() }
            return try await self.renew(settings, didApply)
        }
        self.watch.withLock { $0 = watch }
    }
}
