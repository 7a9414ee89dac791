// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A system resolver that asks the servers of resolv.conf itself, for a process that getaddrinfo(3) would ask in turn.
package final class NameServerResolver: SystemResolving {
    private let provider: HTTPDNSDNSProvider

    /// - Parameters:
    ///   - servers: The machine's name servers.
    ///   - excluded: Servers of the file that are not asked.
    /// - Throws: ``HTTPDNSProviderConfigurationError``, never for a file.
    package init(
        _ servers: HTTPDNSDNSProvider.Servers = .file("/etc/resolv.conf"),
        excluding excluded: [HTTPDNSEndpoint] = []
    ) throws(HTTPDNSProviderConfigurationError) {
        var configuration = HTTPDNSDNSProvider.Configuration(name: "system", servers: servers)
        configuration.excluded = excluded
        provider = try HTTPDNSDNSProvider(configuration)
    }

    package func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress] {
        let query = HTTPDNSProviderQuery(host: host, families: families, timeLimit: timeLimit)
        let answer: HTTPDNSProviderAnswer
        do {
            answer = try await provider.resolve(query)
        } catch let error as HTTPDNSProviderError {
            throw Self.error(error, host)
        } catch {
            throw SystemResolverError(code: .canceled, message: "the lookup of \(host) was canceled")
        }
        var addresses: [HTTPDNSAddress] = []
        var isKnown = false
        var failure: HTTPDNSProviderError?
        for family in [answer.v6, answer.v4] {
            switch family {
            case .addresses(let found, _, _)?: addresses += found
            case .noData?: isKnown = true
            case .failed(let error)?: failure = error
            case .nameError?, nil: break
            }
        }
        guard addresses.isEmpty else { return addresses }
        if let failure { throw Self.error(failure, host) }
        throw SystemResolverError(
            code: isKnown ? .noAddresses : .nameNotFound,
            message: "the name servers have no address for \(host)"
        )
    }

    private static func error(_ error: HTTPDNSProviderError, _ host: HTTPDNSName) -> SystemResolverError {
        SystemResolverError(
            code: error.code == .timedOut ? .timedOut : .failed,
            message: "the name servers have no answer for \(host): \(error.message)"
        )
    }
}
