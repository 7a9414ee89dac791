import HTTPDNS

/// A provider over a table of your own, such as that of a control plane.
struct TableProvider: Provider {
    let name: String
    /// All addresses of each name that exists.
    let table: [HostName: [IPAddress]]

    func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer {
        ProviderAnswer(table[query.host], timeToLive: .seconds(30), to: query)
    }
}
