// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import Workload

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The same requests through URLSession, in clear text: it can be told neither where a name is, so its URL has the address, nor
/// whom to believe.
@main
struct URLSessionContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = orders.inFlight
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        guard let url = URL(string: orders.url) else { throw OrdersError("--url cannot be read") }
        var template = URLRequest(url: url)
        template.setValue("*/*", forHTTPHeaderField: "Accept")
        template.setValue("bench", forHTTPHeaderField: "User-Agent")
        let request = template
        try await measure(orders) {
            let (body, response) = try await session.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            // It does not say over which version an answer came.
            return Answer(status: status, bodyBytes: body.count, isHTTP2: orders.isHTTP2)
        }
        session.invalidateAndCancel()
    }
}
