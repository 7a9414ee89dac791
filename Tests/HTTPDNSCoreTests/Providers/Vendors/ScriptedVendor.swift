// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable import HTTPDNSCore

/// A vendor's provider whose service is a function.
protocol ScriptedVendor {
    associatedtype Vendor: HTTPDNSProvider

    var provider: Vendor { get }
    var exchange: ScriptedVendorExchange { get }
}

extension ScriptedVendor {
    func resolve(
        _ name: String = "www.example.com",
        _ families: HTTPDNSAddress.Families = .both,
        clientSubnet: HTTPDNSAddressBlock? = nil
    ) async throws -> HTTPDNSProviderAnswer {
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: .seconds(3))
        query.clientSubnet = clientSubnet
        return try await provider.resolve(query)
    }

    func batch(_ names: [String], _ families: HTTPDNSAddress.Families = .both) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        let hosts = try names.map { try HTTPDNSName($0) }
        let first = hosts.first ?? .localhost
        return try await provider.resolve(
            HTTPDNSProviderQuery(host: first, families: families, timeLimit: .seconds(3)),
            batch: hosts
        )
    }

    /// The error of a query; nil when it is answered.
    func error(_ name: String = "www.example.com", _ families: HTTPDNSAddress.Families = .both) async throws
        -> HTTPDNSProviderError?
    {
        do {
            _ = try await resolve(name, families)
            return nil
        } catch let error as HTTPDNSProviderError {
            return error
        }
    }
}
