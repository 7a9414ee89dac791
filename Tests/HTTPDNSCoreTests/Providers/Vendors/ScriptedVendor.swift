import HTTPDNSPrimitives

@testable import HTTPDNSCore

/// A vendor's provider whose service is a function.
protocol ScriptedVendor {
    associatedtype Vendor: Provider

    var provider: Vendor { get }
    var exchange: ScriptedVendorExchange { get }
}

extension ScriptedVendor {
    func resolve(
        _ name: String = "www.example.com",
        _ families: AddressFamilies = .both,
        clientSubnet: AddressBlock? = nil
    ) async throws -> ProviderAnswer {
        var query = ProviderQuery(host: try HostName(name), families: families, timeLimit: .seconds(3))
        query.clientSubnet = clientSubnet
        return try await provider.resolve(query)
    }

    func batch(_ names: [String], _ families: AddressFamilies = .both) async throws -> [HostName: ProviderAnswer] {
        let hosts = try names.map { try HostName($0) }
        let first = hosts.first ?? .localhost
        return try await provider.resolve(
            ProviderQuery(host: first, families: families, timeLimit: .seconds(3)),
            batch: hosts
        )
    }

    /// The error of a query; nil when it is answered.
    func error(_ name: String = "www.example.com", _ families: AddressFamilies = .both) async throws -> ProviderError? {
        do {
            _ = try await resolve(name, families)
            return nil
        } catch let error as ProviderError {
            return error
        }
    }
}
