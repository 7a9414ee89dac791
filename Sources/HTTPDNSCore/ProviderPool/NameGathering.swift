// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The collection of concurrent names into one query for a provider that accepts several: vendors bill by the query.
///
/// The first name waits ``window`` for others, or until there are as many as the provider accepts. A name that the query does
/// not answer is queried separately. So is each name when the whole query is refused: one name must not fail the others.
final class NameGathering: Sendable {
    /// The time that the first name waits for others.
    static let window = Duration.milliseconds(2)

    fileprivate typealias Waiter = OneShot<Result<HTTPDNSProviderAnswer, any Error>>
    fileprivate typealias Need = @Sendable () -> Bool

    /// The properties that the names of one query share.
    fileprivate struct Kind: Hashable {
        let families: HTTPDNSAddress.Families
        let clientSubnet: HTTPDNSAddressBlock?
        let wantsHTTPSRecords: Bool
        /// Whether the caller is a blocking call. Its names do not wait for a query on the runtime's threads, which it may have
        /// blocked.
        let isOnOwnThreads = CallWork.executor != nil

        init(_ query: HTTPDNSProviderQuery) {
            families = query.families
            clientSubnet = query.clientSubnet
            wantsHTTPSRecords = query.wantsHTTPSRecords
        }
    }

    fileprivate struct Group: Sendable {
        let kind: Kind
        var query: HTTPDNSProviderQuery
        var hosts: [HTTPDNSName] = []
        var waiters: [UInt64: (host: HTTPDNSName, waiter: Waiter, isNeeded: Need)] = [:]
        /// Whether its query is in flight, so that it accepts no more names.
        var isClosed = false
        var work: Task<Void, Never>?

        mutating func add(_ query: HTTPDNSProviderQuery, _ number: UInt64, _ waiter: Waiter, _ isNeeded: @escaping Need)
        {
            if !hosts.contains(query.host) { hosts.append(query.host) }
            waiters[number] = (query.host, waiter, isNeeded)
            self.query.host = hosts[0]
            self.query.timeLimit = max(self.query.timeLimit, query.timeLimit)
        }
    }

    fileprivate struct Groups: Sendable {
        var lastNumber: UInt64 = 0
        /// The groups that accept names.
        var open: [Kind: UInt64] = [:]
        /// The groups with waiters.
        var all: [UInt64: Group] = [:]
    }

    fileprivate enum Joined {
        case first, next, last
    }

    private let provider: any HTTPDNSProvider
    private let timeSource: any TimeSource
    private let groups = Lock(Groups())

    init(_ provider: any HTTPDNSProvider, timeSource: any TimeSource) {
        self.provider = provider
        self.timeSource = timeSource
    }

    /// The number of callers that wait for a query, or for its answer.
    var count: Int { groups.withLock { $0.all.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Returns the answer for one name.
    /// - Parameters:
    ///   - isNeeded: Whether the name may be queried separately when the common answer lacks it.
    ///   - onJoining: Called before the wait when the name joins another caller's query.
    func answer(
        to query: HTTPDNSProviderQuery,
        isNeeded: @escaping @Sendable () -> Bool = { true },
        onJoining: () -> Void
    ) async throws -> HTTPDNSProviderAnswer {
        let waiter = Waiter()
        let limit = provider.batchLimit
        let (group, number, joined) = groups.withLock { $0.join(query, waiter, isNeeded, limit: limit) }
        switch joined {
        case .first:
            // If the sleep is canceled, the others do not wait any longer.
            try? await timeSource.sleep(until: timeSource.now() + NameGathering.window)
            if Task.isCancelled {
                groups.withLock { $0.leave(group, number) }?.cancel()
                send(group)
                throw CancellationError()
            }
            if groups.withLock({ $0.removeIfAlone(group) }) { return try await provider.resolve(query) }
            send(group)
        case .next: onJoining()
        case .last:
            onJoining()
            send(group)
        }
        return try await withTaskCancellationHandler {
            try await waiter.value().get()
        } onCancel: {
            waiter.deliver(.failure(CancellationError()))
            groups.withLock { $0.leave(group, number) }?.cancel()
        }
    }

    /// Sends the query of a group, unless it was sent, or there are no waiters left.
    private func send(_ number: UInt64) {
        guard let (query, hosts) = groups.withLock({ $0.close(number) }) else { return }
        let work = CallWork.detached { [self] in
            let results = await results(query, hosts, of: number)
            let waiters = groups.withLock { $0.all.removeValue(forKey: number) }?.waiters ?? [:]
            for (host, waiter, _) in waiters.values {
                waiter.deliver(results[host] ?? .failure(NameGathering.unanswered))
            }
        }
        let isWanted = groups.withLock { groups in
            groups.all[number]?.work = work
            return groups.all[number] != nil
        }
        if !isWanted { work.cancel() }
    }

    private func results(
        _ query: HTTPDNSProviderQuery,
        _ hosts: [HTTPDNSName],
        of group: UInt64
    ) async -> [HTTPDNSName: Result<HTTPDNSProviderAnswer, any Error>] {
        let clock = SystemTimeSource()
        let deadline = clock.now() + query.timeLimit
        var results: [HTTPDNSName: Result<HTTPDNSProviderAnswer, any Error>] = [:]
        do {
            results = try await provider.resolve(query, batch: hosts).mapValues { .success($0) }
        } catch let error as HTTPDNSProviderError where error.code.mayBeAboutOneName {
            // Separate queries show which name causes the failure.
        } catch {
            return Dictionary(uniqueKeysWithValues: hosts.map { ($0, .failure(error)) })
        }
        // Callers may have left, as by the kill switch, or have got an answer elsewhere, while others still wait.
        let waiters = groups.withLock { $0.all[group]?.waiters ?? [:] }
        let wanted = Set(waiters.values.filter { $0.isNeeded() }.map(\.host))
        for host in hosts where results[host] == nil && !wanted.contains(host) {
            results[host] = .failure(CancellationError())
        }
        await withTaskGroup(of: (HTTPDNSName, Result<HTTPDNSProviderAnswer, any Error>).self) { group in
            for host in hosts where results[host] == nil {
                var single = query
                single.host = host
                single.timeLimit = deadline - clock.now()
                group.addTask { [provider, single] in
                    // Not `return (host, .success(try await …))`: in a release build of Swift 6.3 the host is not there when
                    // it throws.
                    let answer: Result<HTTPDNSProviderAnswer, any Error>
                    do {
                        answer = .success(try await provider.resolve(single))
                    } catch {
                        answer = .failure(error)
                    }
                    return (host, answer)
                }
            }
            for await (host, result) in group { results[host] = result }
        }
        return results
    }

    private static let unanswered = HTTPDNSProviderError(
        code: .badResponse,
        message: "the answer says nothing about the name that was asked for"
    )
}

extension NameGathering.Groups {
    fileprivate mutating func join(
        _ query: HTTPDNSProviderQuery,
        _ waiter: NameGathering.Waiter,
        _ isNeeded: @escaping NameGathering.Need,
        limit: Int
    ) -> (group: UInt64, number: UInt64, NameGathering.Joined) {
        let kind = NameGathering.Kind(query)
        lastNumber += 1
        let number = lastNumber
        let group = open[kind] ?? number
        let isFirst = open[kind] == nil
        open[kind] = group
        all[group, default: NameGathering.Group(kind: kind, query: query)].add(query, number, waiter, isNeeded)
        let isFull = all[group]?.hosts.count ?? 0 >= limit
        if isFull { open[kind] = nil }
        return (group, number, isFirst ? .first : isFull ? .last : .next)
    }

    /// Removes a waiter.
    /// - Returns: The task that has no waiters any more.
    fileprivate mutating func leave(_ group: UInt64, _ number: UInt64) -> Task<Void, Never>? {
        guard all[group]?.waiters.removeValue(forKey: number) != nil, let left = all[group], left.waiters.isEmpty else {
            return nil
        }
        all[group] = nil
        if open[left.kind] == group { open[left.kind] = nil }
        return left.work
    }

    /// Closes a group with a single waiter.
    fileprivate mutating func removeIfAlone(_ number: UInt64) -> Bool {
        guard let group = all[number], !group.isClosed, group.waiters.count == 1, group.hosts.count == 1 else {
            return false
        }
        all[number] = nil
        open[group.kind] = nil
        return true
    }

    /// Closes a group.
    /// - Returns: The names that are still waited for; nil when it was closed before.
    fileprivate mutating func close(_ number: UInt64) -> (HTTPDNSProviderQuery, [HTTPDNSName])? {
        guard var group = all[number], !group.isClosed else { return nil }
        let wanted = Set(group.waiters.values.map(\.host))
        group.hosts.removeAll { !wanted.contains($0) }
        if let first = group.hosts.first { group.query.host = first }
        group.isClosed = true
        if open[group.kind] == number { open[group.kind] = nil }
        all[number] = group
        return (group.query, group.hosts)
    }
}

extension HTTPDNSProviderError.Code {
    /// Whether the refusal may concern one name of several.
    fileprivate var mayBeAboutOneName: Bool {
        self == .refused || self == .badResponse || self == .serverFailure
    }
}
