// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import HTTPDNSCore
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSNIO

struct VarlinkTests {
    private func text(_ reply: VarlinkReply) -> String { String(decoding: reply.bytes.dropLast(), as: UTF8.self) }

    @Test(
        "A call is a method with its parameters, and anything else is none",
        arguments: [
            (#"{"method":"org.varlink.service.GetInfo"}"#, VarlinkRequest.information),
            (resolve(#""name":"a.test","flags":0"#), .hostname("a.test", nil)),
            (resolve(#""name":"a.test","family":0"#), .hostname("a.test", nil)),
            (resolve(#""name":"a.test","family":2"#), .hostname("a.test", .v4)),
            (resolve(#""name":"a.test","family":10"#), .hostname("a.test", .v6)),
            (resolve(#""name":"a.test","family":1"#), .other(method: hostname)),
            (resolve(#""family":2"#), .other(method: hostname)),
            (resolve(#""name":7"#), .other(method: hostname)),
            (#"{"method":"\#(hostname)"}"#, .other(method: hostname)),
            (#"{"method":"\#(hook).QueryFilter"}"#, .filter(isWatched: false)),
            (#"{"method":"\#(hook).QueryFilter","more":true}"#, .filter(isWatched: true)),
            (
                #"{"method":"\#(hook).ResolveRecord","parameters":{"question":[{"key":{"class":1,"type":28,"name":"a.test"}}]}}"#,
                .records([VarlinkRequest.RecordKey("a.test", type: 28)])
            ),
            (
                #"{"method":"\#(hook).ResolveRecord","parameters":{"question":[{"key":{"class":1,"type":-1,"name":"a.test"}}]}}"#,
                .other(method: "\(hook).ResolveRecord")
            ),
            (
                #"{"method":"\#(hook).ResolveRecord","parameters":{"question":[]}}"#,
                .other(method: "\(hook).ResolveRecord")
            ),
            (#"{"method":"a.b","oneway":true}"#, .oneWay), (#"{"method":"a.b"}"#, .other(method: "a.b")),
            ("{}", nil), ("", nil), ("[]", nil), (#"{"method":1}"#, nil), ("{", nil),
        ] as [(String, VarlinkRequest?)]
    )
    func request(_ message: String, _ expected: VarlinkRequest?) {
        #expect(VarlinkRequest(Array(message.utf8)) == expected)
    }

    private static let hostname = "io.systemd.Resolve.ResolveHostname"
    private static let hook = "io.systemd.Resolve.Hook"
    private static func resolve(_ parameters: String) -> String {
        #"{"method":"\#(hostname)","parameters":{\#(parameters)}}"#
    }

    private static let endpoints: [HTTPDNSEndpoint] = ["127.0.0.2", "::1", "127.0.0.3"].map {
        HTTPDNSEndpoint(address: HTTPDNSAddress($0)!, port: 0)
    }

    @Test(
        "A reply has the addresses of the family alone, in their order",
        arguments: [
            (
                nil,
                #"{"family":2,"address":[127,0,0,2]},{"family":10,"address":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]},{"family":2,"address":[127,0,0,3]}"#
            ),
            (.v4, #"{"family":2,"address":[127,0,0,2]},{"family":2,"address":[127,0,0,3]}"#),
            (.v6, #"{"family":10,"address":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}"#),
        ] as [(HTTPDNSAddress.Family?, String)]
    )
    func addresses(_ family: HTTPDNSAddress.Family?, _ expected: String) throws {
        let reply = VarlinkReply.addresses(Self.endpoints, of: try HTTPDNSName("a.test"), family: family)
        #expect(text(reply) == #"{"parameters":{"addresses":[\#(expected)],"name":"a.test","flags":1}}"#)
    }

    @Test("A reply never has an empty list of addresses, and at most 16 of a family")
    func neverEmpty() throws {
        let name = try HTTPDNSName("a.test")
        let ported = [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 8443)]
        let v4 = (1...40).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, $0), port: 0) }
        #expect(VarlinkReply.addresses([], of: name, family: nil) == .noAddress)
        #expect(VarlinkReply.addresses(ported, of: name, family: nil) == .noAddress)
        #expect(VarlinkReply.addresses(v4, of: name, family: .v6) == .noAddress)
        let many = text(.addresses(v4 + Self.endpoints, of: name, family: nil))
        #expect(many.split(separator: #""family":2,"#).count == 17 && many.contains(#""family":10"#))
    }

    @Test(
        "A failed lookup says whether the name exists, and whether to try again",
        arguments: [
            (.nameNotFound, .noSuchName), (.noAddresses, .noAddress), (.policyRefused, .noAddress),
            (.invalidName, .notOurs), (.timedOut, .timedOut), (.providersFailed, .failed), (.overloaded, .failed),
            (.systemFailed, .failed), (.shutDown, .failed),
        ] as [(HTTPDNSResolver.Error.Code, VarlinkReply)]
    )
    func failure(_ code: HTTPDNSResolver.Error.Code, _ expected: VarlinkReply) {
        #expect(VarlinkReply.failure(HTTPDNSResolver.Error(code: code, host: "a.test", message: "")) == expected)
    }

    /// Answers every name with one address.
    private struct Fixed: HTTPDNSProvider {
        let name = "fixed"
        let address: HTTPDNSAddress

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            HTTPDNSProviderAnswer([address], timeToLive: .seconds(60), to: query)
        }
    }

    @Test(
        "No reply has an address of a provider that is not public",
        arguments: [
            "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "::1", "::", "fe80::1",
            "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "203.0.113.7",
        ]
    )
    func policy(_ text: String) async throws {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [Fixed(address: try #require(HTTPDNSAddress(text)))]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["fixed"], fallback: .off))]
        configuration.families = .both
        // Beside hundreds of others no task runs within a second.
        (configuration.timeLimit, configuration.attemptLimit) = (.seconds(60), .seconds(60))
        var listener = VarlinkListener.Configuration(path: "")
        listener.timeLimit = .seconds(60)
        let state = VarlinkState(try HTTPDNSResolver(configuration), listener)
        guard case .later(let query, let name) = state.answer("a.example", nil) else {
            Issue.record("a name without a cached answer is looked up")
            return
        }
        let isPublic = text == "203.0.113.7"
        let first = await state.lookUp(query, name)
        #expect(first == .noAddress || isPublic, "\(String(decoding: first.bytes, as: UTF8.self))")
        // From the cache too.
        let second =
            switch state.answer("a.example", nil) {
            case .now(let reply): reply
            case .later: await state.lookUp(query, name)
            }
        #expect((second == .noAddress) == !isPublic)
        await state.lookup.resolver.shutdown()
    }

    @Test("Names without mapping and route, or switched off, are not this service's")
    func decides() async throws {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [Fixed(address: HTTPDNSAddress(v4: 203, 0, 113, 7))]
        configuration.routes = [
            HTTPDNSRoute(try .init("*.routed.example"), .providers(["fixed"], fallback: .off)),
            HTTPDNSRoute(try .init("*.fallback.example"), .providers(["fixed"], fallback: .system)),
            HTTPDNSRoute(try .init("*.system.example"), .system),
        ]
        configuration.mappings = [
            try .init("mapped.example"): .addresses(["203.0.113.8"]),
            try .init("only.example:443"): .addresses(["::2"]),
            try .init("system.mapped.example"): .system,
        ]
        let state = VarlinkState(try HTTPDNSResolver(configuration), .init(path: ""))
        func isOurs(_ name: String) -> Bool {
            if case .now(.notOurs) = state.answer(name, nil) { false } else { true }
        }
        let ours = ["mapped.example", "a.routed.example", "MAPPED.example."]
        let others = [
            "other.example", "a.fallback.example", "a.system.example", "only.example", "system.mapped.example",
            "localhost",
            "127.0.0.1", "::1", "", "a b", "printer", "routed.example",
        ]
        for name in ours { #expect(isOurs(name), "\(name)") }
        for name in others { #expect(!isOurs(name), "\(name)") }
        state.lookup.resolver.killSwitch.turnOff()
        for name in ours + others { #expect(!isOurs(name), "\(name)") }
        await state.lookup.resolver.shutdown()
    }

    @Test(
        "A hook's question is about the addresses of one name, and others are passed on",
        arguments: [
            ([("a.test", 1)], "a.test v4"), ([("a.test", 1), ("A.test.", 28)], "a.test v4 v6"),
            ([("b\u{fc}cher.test", 1), ("xn--bcher-kva.test", 1)], "xn--bcher-kva.test v4"),
            ([("a.test", 65)], "a.test"),
            ([("a.test", 1), ("b.test", 1)], nil), ([("a.test", 16)], nil), ([("_a._tcp.test", 33)], nil),
            ([("127.0.0.1", 1)], nil), ([("b\u{fc}cher.test", 1)], nil), ([("", 1)], nil),
        ] as [([(String, UInt16)], String?)]
    )
    func hookQuestion(_ keys: [(String, UInt16)], _ expected: String?) {
        let question = HookQuestion(keys.map { VarlinkRequest.RecordKey($0.0, type: $0.1) })
        let text = question.map { question in
            (["\(question.name)"] + [HTTPDNSAddress.Family.v4, .v6].filter(question.families.contains).map { "\($0)" })
                .joined(separator: " ")
        }
        #expect(text == expected)
        #expect(HookQuestion([VarlinkRequest.RecordKey("a.test", type: 1, recordClass: 3)]) == nil)
    }

    @Test("A method in a reply cannot end its text")
    func method() {
        #expect(text(.notOurs("a\",\"b")) == #"{"error":"org.varlink.service.MethodNotImplemented","parameters":{}}"#)
    }

    @Test("Messages are taken one at a time, in any pieces, up to a length")
    func messages() {
        let bytes = Array("one\0two\0thr".utf8)
        for size in 1...bytes.count {
            var messages = VarlinkMessages()
            var taken: [String] = []
            for begin in stride(from: 0, to: bytes.count, by: size) {
                let hasRoom = messages.received(bytes[begin..<min(bytes.count, begin + size)])
                #expect(hasRoom)
                while let message = messages.next() {
                    taken.append(String(decoding: message, as: UTF8.self))
                    let early = messages.next()
                    #expect(early == nil)
                    messages.replied()
                }
            }
            #expect(taken == ["one", "two"])
        }
        var messages = VarlinkMessages()
        let fits = messages.received([UInt8](repeating: 1, count: VarlinkMessages.maximumBytes))
        let isFull = !messages.received([1])
        #expect(fits && isFull)
    }
}
#endif
