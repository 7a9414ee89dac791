// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes

@testable import HTTPDNSCore

/// Carries requests to a function in place of a vendor's service, and keeps them.
final class ScriptedVendorExchange: UpstreamExchanging {
    struct Sent: Sendable {
        let request: ServiceRequest
        let endpoint: HTTPDNSEndpoint
        let deadline: MonotonicTime

        var path: String { String(request.url.target.prefix { $0 != "?" }) }
        var parameters: [String: String] { request.parameters }
        var isDiscovery: Bool { path.hasSuffix("/ss") || path == "/conf" }

        func reply(_ text: String, status: Int = 200, fields: HTTPFields = [:]) -> UpstreamReply {
            UpstreamReply(status: status, headerFields: fields, body: Array(text.utf8), endpoint: endpoint)
        }

        func refusal(_ code: String, status: Int = 403, fields: HTTPFields = [:]) -> UpstreamReply {
            reply(#"{"code":"\#(code)"}"#, status: status, fields: fields)
        }
    }

    private let state = Lock<(sent: [Sent], isShutDown: Bool)>(([], false))
    private let answer: @Sendable (Sent) async throws -> UpstreamReply

    init(_ answer: @escaping @Sendable (Sent) async throws -> UpstreamReply) { self.answer = answer }

    var sent: [Sent] { state.withLock { $0.sent } }
    var queries: [Sent] { sent.filter { !$0.isDiscovery } }
    var discoveries: [Sent] { sent.filter(\.isDiscovery) }
    var isShutDown: Bool { state.withLock { $0.isShutDown } }

    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> UpstreamReply
    {
        let sent = Sent(request: request, endpoint: endpoint, deadline: deadline)
        state.withLock { $0.sent.append(sent) }
        return try await answer(sent)
    }

    func shutdown() async { state.withLock { $0.isShutDown = true } }

    static func failure(_ code: TransferFailure.Code) -> TransferFailure {
        TransferFailure(code: code, phase: .connect, message: "\(code)")
    }
}
