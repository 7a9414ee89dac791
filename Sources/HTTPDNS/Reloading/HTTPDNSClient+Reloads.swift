public import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The results of reloading: the last success, and the error that keeps the present file from being used. Cheap
    /// enough to read every second.
    public var reloads: HTTPDNSClient.ReloadStatus { watch.withLock { $0 }?.status ?? HTTPDNSClient.ReloadStatus() }

    /// Reads the file of the settings again, and applies all of it or, after an error, nothing.
    ///
    /// Changes of the file are noticed without this call; it returns the result. Values that code changed after the
    /// file was read keep the code's value.
    /// - Returns: The generation from which the settings are in force, and the settings that need a restart.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` when the file cannot be used or the settings came
    ///   from no file, with code `shutDown` after ``shutdown(drainingFor:)``; `CancellationError`. Nothing has changed
    ///   then.
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

    /// Starts watching the source of the settings, if there is one.
    func startWatching(_ configuration: Configuration) {
        guard let source = configuration.source else { return }
        let watch = source.watch(for: configuration) { [weak self] settings, didApply in
            guard let self else { throw ConfigurationWatchEnded() }
            return try await self.renew(settings, didApply)
        }
        self.watch.withLock { $0 = watch }
    }
}
