// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPDNSCore
import HTTPDNSLocalProvider
import ServerRig

/// A provider that runs for the time of a test.
struct Serving: Sendable {
    let provider: HTTPDNSProviderServer
    let listener: HTTPDNSProviderServer.Listener
    /// The queries that it has answered.
    let queries: Journal<HTTPDNSProviderServer.Query>

    var url: String { listener.url }

    /// - Parameter serve: The lines of the part `serve`.
    static func run<Result: Sendable>(
        _ serve: String = "",
        text: String? = nil,
        settings: (inout HTTPDNSProviderServer.Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (Serving) async throws -> Result
    ) async throws -> Result {
        let queries = Journal<HTTPDNSProviderServer.Query>()
        var configuration = HTTPDNSProviderServer.Configuration(.text(text ?? ServedFile.text(serve)))
        configuration.drainLimit = .milliseconds(200)
        configuration.onQuery = { queries.write($0) }
        settings(&configuration)
        let provider = try HTTPDNSProviderServer(configuration)
        return try await provider.serving { listener in
            try await body(Serving(provider: provider, listener: listener, queries: queries))
        }
    }

    static func query(_ name: String, _ families: HTTPDNSAddress.Families = .both) throws -> HTTPDNSProviderQuery {
        HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: .seconds(120))
    }
}

extension HTTPDNSProvider {
    /// The answer about a name, or the error; the provider is shut down afterwards.
    func outcome(_ name: String, _ families: HTTPDNSAddress.Families = .both) async throws -> Result<
        HTTPDNSProviderAnswer, HTTPDNSProviderError
    > {
        defer { Task { await shutdown() } }
        do {
            return .success(try await resolve(try Serving.query(name, families)))
        } catch let error as HTTPDNSProviderError {
            return .failure(error)
        }
    }
}

extension HTTPDNSProviderAnswer {
    /// The addresses of both families.
    var addresses: [String] {
        [v4, v6].flatMap { family -> [String] in
            guard case .addresses(let addresses, _, _)? = family else { return [] }
            return addresses.map { "\($0)" }
        }
    }

    /// The lives of both families, in seconds.
    var lives: [Int64] {
        [v4, v6].compactMap { family in
            guard case .addresses(_, let life, _)? = family else { return nil }
            return life.components.seconds
        }
    }
}
#endif
