import HTTPDNSClient

/// A provider over a look-up of your own, such as a vendor's API or the table of a control plane.
actor LookUpProvider: Provider {
    nonisolated let name: String
    /// The most private addresses that it may answer with: `.public`, the default, keeps 10/8 and the like out.
    nonisolated let answerScope = AddressScope.public

    /// All addresses of a name; nil when it does not exist. It ends when its task is cancelled.
    private let lookUp: @Sendable (HostName) async throws -> [IPAddress]?
    private var lookUps: [Int: Task<[IPAddress]?, any Error>] = [:]
    private var lastNumber = 0
    private var isShutDown = false

    init(name: String, lookUp: @escaping @Sendable (HostName) async throws -> [IPAddress]?) {
        self.name = name
        self.lookUp = lookUp
    }

    func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer {
        guard !isShutDown else { throw ProviderError(code: .shutDown, message: "\(name) is shut down") }
        let work = Task { try await lookUp(query.host) }
        let timer = Task {
            try await Task.sleep(for: query.timeLimit)
            work.cancel()
        }
        lastNumber += 1
        let number = lastNumber
        lookUps[number] = work
        defer {
            timer.cancel()
            lookUps[number] = nil
        }
        do {
            let addresses = try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
            return ProviderAnswer(v4: outcome(.v4, addresses, query), v6: outcome(.v6, addresses, query))
        } catch is CancellationError {
            try Task.checkCancellation()
            if isShutDown { throw ProviderError(code: .shutDown, message: "\(name) is shut down") }
            throw ProviderError(code: .timedOut, message: "no answer")
        }
    }

    private func outcome(_ family: IPAddress.Family, _ addresses: [IPAddress]?, _ query: ProviderQuery) -> FamilyAnswer?
    {
        guard query.families.contains(family) else { return nil }
        guard let addresses else { return .nameError(timeToLive: .seconds(5)) }
        let own = addresses.filter { $0.family == family }
        return own.isEmpty
            ? .noData(timeToLive: .seconds(5)) : .addresses(own, timeToLive: .seconds(30), canonicalName: nil)
    }

    func shutdown() {
        isShutDown = true
        for work in lookUps.values { work.cancel() }
    }
}
