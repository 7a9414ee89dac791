// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSMessages

/// The lookup of a name's records of one type, at servers that answer with DNS messages, in their order.
///
/// The answer is shown as the server gives it: aliases are not followed, and neither mappings nor the cache are used.
struct RecordLookup: Sendable {
    /// A provider, and the client network for it.
    struct Source: Sendable {
        var provider: any RecordProvider
        var subnet: HTTPDNSAddressBlock?
    }

    /// Returns the sources for a host and the name that has its records.
    let sources: @Sendable (HTTPDNSHost, HTTPDNSName) -> [Source]
    let timeLimit: Duration
    let attemptLimit: Duration

    /// Creates a lookup that asks one provider.
    init(asking provider: any RecordProvider, timeLimit: Duration) {
        sources = { _, _ in [Source(provider: provider)] }
        (self.timeLimit, attemptLimit) = (timeLimit, timeLimit)
    }

    /// Creates a lookup by the routes of a client.
    /// - Parameter nameServers: The provider in place of the system resolver, which has addresses alone.
    init(_ client: HTTPDNSClient, _ settings: ClientSettings, nameServers: any RecordProvider) {
        let isEnabled = settings.configuration.isEnabled
        let providers = settings.configuration.resolver.providers
        sources = { host, name in
            guard isEnabled, let route = client.resolver.route(for: name),
                case .providers(let names, fallback: let fallback) = route.action
            else { return [Source(provider: nameServers)] }
            let sources = names.compactMap { name in providers.last { $0.name == name } as? any RecordProvider }
                .filter { Self.mayKnow(host, $0) }
                .map { Source(provider: $0, subnet: route.clientSubnet) }
            return sources + (fallback == .system ? [Source(provider: nameServers)] : [])
        }
        timeLimit = settings.configuration.resolver.timeLimit
        attemptLimit = settings.configuration.resolver.attemptLimit
    }

    /// Returns the rows of all hosts, each with all types.
    func rows(_ hosts: [HostArgument], _ types: [DNSRecordType]) async throws -> [RecordReport.Row] {
        let questions = hosts.flatMap { host in types.map { (host, $0) } }
        return try await ConcurrentWork.map(questions, atMost: 64) { try await row($0.0, $0.1) }
    }

    private func row(_ host: HostArgument, _ type: DNSRecordType) async throws -> RecordReport.Row {
        var row = RecordReport.Row(host: host, type: type)
        let clock = ContinuousClock()
        let start = clock.now
        do throws(CommandFailure) {
            try await ask(&row)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            row.failure = error
            row.failure?.providerAttempts = row.failedAttempts
        }
        row.elapsed = start.duration(to: clock.now)
        return row
    }

    private func ask(_ row: inout RecordReport.Row) async throws(CommandFailure) {
        let owner = try owner(row)
        let sources = sources(row.host.host, owner)
        guard !sources.isEmpty else {
            throw row.failure(
                "no-provider",
                "no provider that has such records may be asked",
                hint:
                    "@SERVER asks a server, --public asks public services; in a file the kinds doh and dns have records"
            )
        }
        let clock = ContinuousClock()
        let deadline = clock.now + timeLimit
        for source in sources {
            let start = clock.now
            let left = start.duration(to: deadline)
            guard left > .zero else { break }
            let reason: String
            do {
                let answer = try await source.provider.records(
                    for: DNSQuestion(owner, type: row.type),
                    clientSubnet: source.subnet,
                    timeLimit: sources.count == 1 ? timeLimit : min(attemptLimit, left)
                )
                (row.answer, row.provider) = (answer, source.provider.name)
                let code = answer.response.responseCode
                if code == .noError || code == .nameError { return try check(answer.response, row, owner) }
                reason = "\(code) from \(answer.server)"
            } catch let error as CommandFailure {
                throw error
            } catch {
                reason = (error as? HTTPDNSProviderError)?.message ?? "\(error)"
            }
            row.failedAttempts.append(
                HTTPDNSResolver.ProviderAttempt(
                    provider: source.provider.name,
                    failure: reason,
                    elapsed: start.duration(to: clock.now)
                )
            )
        }
        let reasons = row.failedAttempts.map {
            $0.provider == ServerArgument.providerName ? $0.failure : $0.description
        }
        throw row.failure("providers-failed", reasons.joined(separator: "; "))
    }

    private func check(
        _ response: PresentedResponse,
        _ row: RecordReport.Row,
        _ owner: HTTPDNSName
    ) throws(CommandFailure) {
        guard response.responseCode != .nameError else {
            throw row.failure("name-not-found", "the name \(owner) does not exist")
        }
        guard response.answers.contains(where: { $0.type == row.type }) else {
            throw row.failure("no-records", "\(owner) has none")
        }
        if let mistake = response.answers.compactMap(\.mistake).first {
            throw row.failure("malformed-record", "a record is malformed: \(mistake)")
        }
    }

    /// Returns the name that has the records: that of an address for PTR, and for HTTPS on a port other than 443 one that begins
    /// with the port (RFC 9460 section 9.1).
    private func owner(_ row: RecordReport.Row) throws(CommandFailure) -> HTTPDNSName {
        let text: String
        switch row.host.host {
        case .address(let address):
            guard row.type == .ptr else {
                throw row.failure("invalid-name", "an address has no \(row.type) records", hint: "give a name")
            }
            text = address.reverseName
        case .name(let name):
            guard row.type == .https, row.host.port != 443 else { return name }
            text = "_\(row.host.port)._https.\(name)"
        }
        do {
            return try HTTPDNSName(text)
        } catch {
            throw row.failure("invalid-name", "\(error)")
        }
    }

    /// Returns whether a provider may know that a host is asked for: not for an address that it may not answer.
    private static func mayKnow(_ host: HTTPDNSHost, _ provider: any RecordProvider) -> Bool {
        guard case .address(let address) = host else { return true }
        return HTTPDNSAddressPolicy()
            .refusal(of: address, from: .provider, providerScope: provider.answerScope) == nil
    }
}

extension HTTPDNSAddress {
    /// The name that has the PTR records of the address (RFC 1035 section 3.5, RFC 3596 section 2.5).
    fileprivate var reverseName: String {
        switch family {
        case .v4:
            bytes.reversed().map(String.init).joined(separator: ".") + ".in-addr.arpa"
        case .v6:
            bytes.reversed().flatMap { [$0 & 15, $0 >> 4] }.map { String($0, radix: 16) }.joined(separator: ".")
                + ".ip6.arpa"
        }
    }
}
#endif
