// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import HTTPDNSTesting
import HTTPTypes

/// A JSON DNS provider whose service answers with the texts of a function.
struct ScriptedJSONService: ScriptedService {
    let provider: any HTTPDNSProvider
    let exchange: ScriptedExchange

    init(
        service: HTTPDNSJSONProvider.Service = .google,
        url: String? = nil,
        bootstrap: [HTTPDNSAddress]? = nil,
        clock: WallClock = .system,
        _ answer: @escaping @Sendable (ScriptedExchange.Sent) async throws -> UpstreamReply
    ) throws {
        exchange = ScriptedExchange(answer)
        provider = try HTTPDNSJSONProvider(
            .init(name: "json", service: service, url: url, bootstrap: bootstrap),
            exchange: exchange,
            time: HTTPDNSManualClock(),
            clock: clock
        )
    }

    /// A service that says the same text to every question.
    init(text: String, fields: HTTPFields = [.contentType: "application/json"]) throws {
        try self.init { .status(200, to: $0, fields: fields, body: Array(text.utf8)) }
    }
}

extension UpstreamReply {
    /// A good answer with `members` beside the question.
    static func json(
        to sent: ScriptedExchange.Sent,
        fields: HTTPFields = [.contentType: "application/json"],
        _ members: String
    ) -> UpstreamReply {
        .status(200, to: sent, fields: fields, body: Array(JSONText.answer(to: sent.question, members).utf8))
    }

    /// 127.0.0.2 to A, ::1 to AAAA, for a minute.
    static func jsonLoopback(to sent: ScriptedExchange.Sent, fields: HTTPFields = [:]) -> UpstreamReply {
        let address = sent.question.type == .a ? "127.0.0.2" : "::1"
        return .json(to: sent, fields: fields, #""Status":0,"Answer":[\#(JSONText.record(sent.question, address))]"#)
    }
}

enum JSONText {
    /// An answer that repeats the question.
    static func answer(to question: DNSQuestion, _ members: String) -> String {
        #"{"Question":[{"name":"\#(question.name)","type":\#(question.type.number)}],\#(members)}"#
    }

    /// A record of the question's name and type.
    static func record(_ question: DNSQuestion, _ data: String, timeToLive: String = "60") -> String {
        #"{"name":"\#(question.name)","type":\#(question.type.number),"TTL":\#(timeToLive),"data":"\#(data)"}"#
    }
}
