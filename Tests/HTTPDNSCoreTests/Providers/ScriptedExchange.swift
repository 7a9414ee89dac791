// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSMessages
import HTTPDNSTesting
import HTTPTypes

/// Carries requests to a function in place of a service, and keeps them.
final class ScriptedExchange: UpstreamExchanging {
    struct Sent: Sendable {
        let request: ServiceRequest
        let endpoint: HTTPDNSEndpoint
        let deadline: MonotonicTime
        let question: DNSQuestion
    }

    private struct State {
        var sent: [Sent] = []
        var isShutDown = false
    }

    private let state = Lock(State())
    private let answer: @Sendable (Sent) async throws -> UpstreamReply

    init(_ answer: @escaping @Sendable (Sent) async throws -> UpstreamReply) {
        self.answer = answer
    }

    var sent: [Sent] { state.withLock { $0.sent } }
    var isShutDown: Bool { state.withLock { $0.isShutDown } }

    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> UpstreamReply
    {
        let sent = Sent(
            request: request,
            endpoint: endpoint,
            deadline: deadline,
            question: try Self.question(of: request)
        )
        state.withLock { $0.sent.append(sent) }
        return try await answer(sent)
    }

    func shutdown() async {
        state.withLock { $0.isShutDown = true }
    }

    /// Reads the question as a server does: from the parameters of JSON DNS, or from a message.
    private static func question(of request: ServiceRequest) throws -> DNSQuestion {
        if let name = request.parameters["name"], let type = request.parameters["type"].flatMap(UInt16.init) {
            return DNSQuestion(try HTTPDNSName(name), type: DNSRecordType(number: type))
        }
        var reader = DNSMessageReader(request.body ?? Self.decodeBase64URL(request.dnsParameter ?? ""))
        _ = try reader.readOctets(12)
        return DNSQuestion(name: try reader.readName(), type: DNSRecordType(number: try reader.readUInt16()))
    }

    /// Decodes by bits, so that the encoder is not measured by itself.
    static func decodeBase64URL(_ text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = text.flatMap { character -> [Int] in
            let value = alphabet.firstIndex(of: character) ?? 0
            return (0..<6).map { value >> (5 - $0) & 1 }
        }
        return stride(from: 0, to: bits.count / 8 * 8, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | UInt8($1) }
        }
    }
}

extension ServiceRequest {
    /// The value of the `dns` parameter in the URL.
    var dnsParameter: String? { parameters["dns"] }

    /// The parameters of the URL; the first of several equal ones.
    var parameters: [String: String] {
        let query = url.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let pairs = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { first, _ in first })
    }
}

extension UpstreamReply {
    /// A good response with the message that `build` makes.
    static func message(
        to sent: ScriptedExchange.Sent,
        fields: HTTPFields = [.contentType: "application/dns-message"],
        _ build: (inout DNSMessageBuilder) -> Void = { _ in }
    ) -> UpstreamReply {
        var builder = DNSMessageBuilder(to: sent.question)
        build(&builder)
        return UpstreamReply(status: 200, headerFields: fields, body: builder.octets, endpoint: sent.endpoint)
    }

    static func status(
        _ status: Int,
        to sent: ScriptedExchange.Sent,
        fields: HTTPFields = [:],
        body: [UInt8] = []
    ) -> UpstreamReply {
        UpstreamReply(status: status, headerFields: fields, body: body, endpoint: sent.endpoint)
    }

    /// 127.0.0.2 to A, ::1 to AAAA.
    static func loopback(
        to sent: ScriptedExchange.Sent,
        timeToLive: UInt32 = 60,
        fields: HTTPFields = [.contentType: "application/dns-message"]
    ) -> UpstreamReply {
        .message(to: sent, fields: fields) { builder in
            let octets: [UInt8] = sent.question.type == .a ? [127, 0, 0, 2] : [UInt8](repeating: 0, count: 15) + [1]
            builder.address("one.test", octets, timeToLive: timeToLive)
        }
    }
}

/// A provider whose exchange with its service is scripted.
protocol ScriptedService {
    var provider: any HTTPDNSProvider { get }
}

/// A DoH provider with a service at `addresses`.
struct ScriptedDoHService: ScriptedService {
    let provider: any HTTPDNSProvider
    let exchange: ScriptedExchange
    let time = HTTPDNSManualClock()

    init(
        url: String = "https://doh.test/dns-query",
        addresses: [HTTPDNSAddress] = [HTTPDNSAddress(v4: 192, 0, 2, 1)],
        method: HTTPDNSDoHProvider.Method = .get,
        _ answer: @escaping @Sendable (ScriptedExchange.Sent) async throws -> UpstreamReply
    ) throws {
        var configuration = HTTPDNSDoHProvider.Configuration(name: "doh", url: url, bootstrap: addresses)
        configuration.method = method
        exchange = ScriptedExchange(answer)
        provider = try HTTPDNSDoHProvider(configuration, exchange: exchange, time: time)
    }
}

extension ScriptedService {
    func resolve(
        _ name: String = "one.test",
        _ families: HTTPDNSAddress.Families = .both,
        timeLimit: Duration = .seconds(3),
        clientSubnet: HTTPDNSAddressBlock? = nil
    ) async throws -> HTTPDNSProviderAnswer {
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: timeLimit)
        query.clientSubnet = clientSubnet
        return try await provider.resolve(query)
    }

    /// The error that the whole query throws; nil when it gives an answer.
    func error(_ families: HTTPDNSAddress.Families = .both) async throws -> HTTPDNSProviderError? {
        do {
            _ = try await resolve("one.test", families)
            return nil
        } catch let error as HTTPDNSProviderError {
            return error
        }
    }
}
