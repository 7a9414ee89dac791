internal import HTTPDNS

extension ClientSettings {
    /// Runs work with a client of these settings, and shuts the client down in every case.
    func withClient<Result>(_ work: (HTTPDNSClient) async throws -> Result) async throws -> Result {
        let client = try await HTTPDNSClient(configuration: configuration)
        do {
            let result = try await work(client)
            try await client.shutdown()
            return result
        } catch {
            // The work's own error is the one to report.
            try? await client.shutdown()
            guard !(error is CancellationError) else { throw error }
            throw advised(CommandFailure(error))
        }
    }
}
