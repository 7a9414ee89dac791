// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import Foundation
import HTTPDNSConfiguration
import HTTPDNSPrimitives
import HTTPTypes

@testable import HTTPDNSLocalProvider

/// The part of the file that all tests share.
enum ServedFile {
    static let mappings = """
        version: 1
        mappings:
          both.shop.test: { addresses: [192.0.2.10, 192.0.2.11, "2001:db8::10"], ttl: 30s }
          v4.shop.test: 192.0.2.20
          v6.shop.test: "2001:db8::20"
          alias.shop.test: { via: both.shop.test }
          "*.wild.test": 192.0.2.30
          inner.shop.test: system
          port.shop.test:8443: 192.0.2.40

        """

    static func text(_ serve: String) -> String {
        mappings + (serve.isEmpty ? "" : "serve:\n" + serve.split(separator: "\n").map { "  \($0)\n" }.joined())
    }
}

/// Requests straight to the core, without a network: what is checked is what the protocols say.
struct Served {
    static let now: Int64 = 1_700_000_000

    let core: ServiceCore

    /// - Parameters:
    ///   - serve: The lines of the part `serve`.
    ///   - seconds: The time.
    init(_ serve: String = "", text: String? = nil, at seconds: Int64 = now) throws {
        let settings = try HTTPDNSConfigurationFile.settings(text ?? ServedFile.text(serve), name: "served.yaml")
        core = ServiceCore(try Zone(settings), clock: WallClock { seconds * 1000 })
    }

    func outcome(
        _ target: String,
        method: HTTPRequest.Method = .get,
        fields: HTTPFields = [:],
        body: [UInt8] = []
    ) -> ServiceCore.Outcome {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        return core.outcome(
            of: ServedRequest(
                method: method,
                path: parts[0],
                query: parts.count > 1 ? parts[1] : "",
                headerFields: fields,
                body: body,
                client: HTTPDNSAddress(v4: 203, 0, 113, 7),
                service: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 8053)
            )
        )
    }

    /// The body of a GET.
    func body(_ target: String) -> String { String(decoding: outcome(target).reply.body, as: UTF8.self) }

    /// What a GET is refused with.
    func refusal(_ target: String) -> String {
        let outcome = outcome(target)
        return "\(outcome.reply.status) \(outcome.record.outcome)"
    }
}
#endif
