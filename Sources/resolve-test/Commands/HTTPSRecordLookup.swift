// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSMessages

/// The lookup of a name's HTTPS records (RFC 9460) at the DoH services of its route, in their order.
///
/// The answer is shown as the service gives it: aliases are not followed, and neither mappings nor the cache are used.
struct HTTPSRecordLookup: Sendable {
    private let client: HTTPDNSClient
    private let services: [String: HTTPDNSDoHProvider]
    private let timeLimit: Duration
    private let isEnabled: Bool

    init(client: HTTPDNSClient, settings: ClientSettings) {
        self.client = client
        let resolver = settings.configuration.resolver
        services = resolver.providers.reduce(into: [:]) { services, provider in
            services[provider.name] = provider as? HTTPDNSDoHProvider
        }
        timeLimit = resolver.timeLimit
        isEnabled = settings.configuration.isEnabled
    }

    func row(_ question: HostArgument) async throws -> RecordReport.Row {
        var row = RecordReport.Row(text: question.text, host: question.host.description, outcome: .success([]))
        let clock = ContinuousClock()
        let start = clock.now
        do throws(CommandFailure) {
            let (records, service) = try await records(question)
            row.outcome = .success(records)
            row.provider = service
        } catch {
            if Task.isCancelled { throw CancellationError() }
            row.outcome = .failure(error)
        }
        row.elapsed = start.duration(to: clock.now)
        return row
    }

    private func records(_ question: HostArgument) async throws(CommandFailure) -> ([DNSRecord], service: String) {
        guard case .name(let name) = question.host else {
            throw failure(.invalidName, question, "an address has no HTTPS records", hint: "give a name")
        }
        var failures: [String] = []
        for service in route(of: name) {
            do {
                let answer = try await service.records(ofType: .https, at: name, timeLimit: timeLimit)
                guard answer.responseCode != .nameError else {
                    throw failure(.nameNotFound, question, "the name does not exist")
                }
                guard answer.answers.contains(where: \.isService) else {
                    throw failure(.noRecords, question, "it has none")
                }
                return (answer.answers, service.name)
            } catch let error as CommandFailure {
                throw error
            } catch {
                failures.append("\(service.name): \(error)")
            }
        }
        guard !failures.isEmpty else {
            throw failure(
                .noProvider,
                question,
                "no DNS-over-HTTPS service is set for the name",
                hint: "--public asks public services; or --doh URL, or a provider of kind doh in the route of the file"
            )
        }
        throw failure(.providersFailed, question, failures.joined(separator: "; "))
    }

    /// Returns the DoH services that the name's route allows; none for an internal name.
    private func route(of name: HTTPDNSName) -> [HTTPDNSDoHProvider] {
        guard isEnabled, case .providers(let names, fallback: _)? = client.resolver.route(for: name)?.action else {
            return []
        }
        return names.compactMap { services[$0] }
    }

    private enum Reason: String {
        case invalidName = "invalid-name"
        case nameNotFound = "name-not-found"
        case noRecords = "no-records"
        case noProvider = "no-provider"
        case providersFailed = "providers-failed"
    }

    private func failure(
        _ reason: Reason,
        _ question: HostArgument,
        _ text: String,
        hint: String? = nil
    ) -> CommandFailure {
        var failure = CommandFailure.failed(
            code: "\(HTTPDNSClientError.Code.resolveFailed)",
            "cannot get HTTPS records of \(question.host): \(text)",
            hint: hint
        )
        failure.reason = reason.rawValue
        failure.phase = "\(HTTPDNSClientError.Phase.resolve)"
        failure.host = question.host.description
        return failure
    }
}
