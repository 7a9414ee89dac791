// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSMessages

/// The lookup of a name's HTTPS records (RFC 9460) at the DoH services of its route, in their order.
///
/// The answer is shown as the service gives it: aliases are not followed, and neither mappings nor the cache are used.
struct HTTPSRecordLookup: Sendable {
    let client: HTTPDNSClient
    let settings: ClientSettings

    func row(_ question: HostArgument) async throws -> RecordReport.Row {
        var row = RecordReport.Row(question: question, outcome: .success([]))
        let clock = ContinuousClock()
        let start = clock.now
        do throws(CommandFailure) {
            let (records, service) = try await records(question, &row.failedAttempts)
            row.outcome = .success(records)
            row.provider = service
            row.malformed = records.compactMap(\.mistake).first.map { mistake in
                failure("malformed-record", question, "a record is malformed: \(mistake)")
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            var error = error
            error.providerAttempts = row.failedAttempts
            row.outcome = .failure(error)
        }
        row.elapsed = start.duration(to: clock.now)
        return row
    }

    private func records(
        _ question: HostArgument,
        _ failures: inout [HTTPDNSResolver.ProviderAttempt]
    ) async throws(CommandFailure) -> ([DNSRecord], service: String) {
        guard case .name(let name) = question.host else {
            throw failure("invalid-name", question, "an address has no HTTPS records", hint: "give a name")
        }
        let owner = try owner(of: name, question)
        let (services, subnet) = route(of: name)
        let clock = ContinuousClock()
        let resolver = settings.configuration.resolver
        let deadline = clock.now + resolver.timeLimit
        for service in services {
            let start = clock.now
            let left = start.duration(to: deadline)
            guard left > .zero else { break }
            do {
                let answer = try await service.records(
                    ofType: .https,
                    at: owner,
                    clientSubnet: subnet,
                    timeLimit: services.count == 1 ? left : min(resolver.attemptLimit, left)
                )
                guard answer.responseCode != .nameError else {
                    throw failure("name-not-found", question, "the name \(owner) does not exist")
                }
                guard answer.answers.contains(where: \.isService) else {
                    throw failure("no-records", question, "\(owner) has none")
                }
                return (answer.answers, service.name)
            } catch let error as CommandFailure {
                throw error
            } catch {
                failures.append(
                    HTTPDNSResolver.ProviderAttempt(
                        provider: service.name,
                        failure: (error as? HTTPDNSProviderError)?.message ?? "\(error)",
                        elapsed: start.duration(to: clock.now)
                    )
                )
            }
        }
        guard !failures.isEmpty else {
            throw failure(
                "no-provider",
                question,
                "no DNS-over-HTTPS service is set for the name",
                hint: "--public asks public services; or --doh URL, or a provider of kind doh in the route of the file"
            )
        }
        throw failure("providers-failed", question, failures.map(\.description).joined(separator: "; "))
    }

    /// Returns the name that has the records: for a port other than 443 it begins with the port (RFC 9460 section 9.1).
    private func owner(of name: HTTPDNSName, _ question: HostArgument) throws(CommandFailure) -> HTTPDNSName {
        guard question.port != 443 else { return name }
        do {
            return try HTTPDNSName("_\(question.port)._https.\(name)")
        } catch {
            throw failure("invalid-name", question, "\(error)")
        }
    }

    /// Returns the DoH services that the name's route allows, and the client network for them; none for an internal name.
    private func route(of name: HTTPDNSName) -> (services: [HTTPDNSDoHProvider], subnet: HTTPDNSAddressBlock?) {
        guard settings.configuration.isEnabled, let route = client.resolver.route(for: name),
            case .providers(let names, fallback: _) = route.action
        else { return ([], nil) }
        let providers = settings.configuration.resolver.providers
        let services = names.compactMap { name in providers.last { $0.name == name } as? HTTPDNSDoHProvider }
        return (services, route.clientSubnet)
    }

    private func failure(
        _ reason: String,
        _ question: HostArgument,
        _ text: String,
        hint: String? = nil
    ) -> CommandFailure {
        var failure = CommandFailure.failed(
            code: "\(HTTPDNSClientError.Code.resolveFailed)",
            "cannot get HTTPS records of \(question.host): \(text)",
            hint: hint,
            host: question.host.description
        )
        failure.reason = reason
        failure.phase = "\(HTTPDNSClientError.Phase.resolve)"
        return failure
    }
}
#endif
