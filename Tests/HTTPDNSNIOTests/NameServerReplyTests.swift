// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import HTTPDNSCore
import HTTPDNSMessages
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSNIO

struct NameServerReplyTests {
    /// Knows names by their first label: addresses, or none, or an error.
    private struct Zone: HTTPDNSProvider {
        let name = "zone"

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            switch query.host.description.split(separator: ".").first {
            case "gone": return HTTPDNSProviderAnswer(v4: .nameError(timeToLive: nil), v6: .nameError(timeToLive: nil))
            case "down": throw HTTPDNSProviderError(code: .serverFailure, message: "it fails")
            case "private":
                return HTTPDNSProviderAnswer([HTTPDNSAddress(v4: 10, 0, 0, 1)], timeToLive: .seconds(9), to: query)
            case "brief":
                return HTTPDNSProviderAnswer([HTTPDNSAddress(v4: 203, 0, 113, 7)], timeToLive: .seconds(9), to: query)
            default:
                return HTTPDNSProviderAnswer([HTTPDNSAddress(v4: 203, 0, 113, 7)], timeToLive: .seconds(600), to: query)
            }
        }
    }

    private static let local = HTTPDNSAddress(v4: 127, 0, 0, 1)
    private static let stranger = HTTPDNSAddress(v4: 192, 0, 2, 77)

    private func service(allowed: [HTTPDNSAddressBlock] = []) throws -> (NameServerService, HTTPDNSResolver) {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [Zone()]
        configuration.routes = [HTTPDNSRoute(try .init("*.routed.test"), .providers(["zone"], fallback: .off))]
        configuration.mappings = [
            try .init("mapped.test"): .addresses(["203.0.113.8", "2001:db8::8"]),
            try .init("short.test"): HTTPDNSMapping(
                .addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, 8))]),
                timeToLive: .seconds(5)
            ),
            try .init("weighted.test"): .weighted(["203.0.113.1": 1, "203.0.113.2": 1]),
            try .init("ported.test"): .addresses(["203.0.113.8:8443"]),
            try .init("many.test"): .addresses((1...100).map { "203.0.113.\($0)" }),
        ]
        configuration.families = .both
        // Beside hundreds of others no task runs within a second.
        (configuration.timeLimit, configuration.attemptLimit) = (.seconds(60), .seconds(60))
        let resolver = try HTTPDNSResolver(configuration)
        let lookup = ListenerLookup(resolver: resolver, timeLimit: .seconds(60), servesFallback: true)
        return (NameServerService(lookup, forward: nil, allowed: allowed), resolver)
    }

    private func query(
        _ name: String,
        _ type: DNSRecordType,
        options: [UInt8]? = nil,
        version: UInt8 = 0,
        recordClass: UInt8 = 1
    ) throws -> [UInt8] {
        let question = DNSQuestion(try HTTPDNSName(name), type: type)
        var message = DNSQuery.encoded(question, usesEDNS: options != nil, isPadded: false)
        (message[0], message[1]) = (0x12, 0x34)
        message[12 + question.name.octets.count + 3] = recordClass
        guard let options else { return message }
        message[message.count - 5] = version
        message[message.count - 1] = UInt8(options.count)
        return message + options
    }

    /// Returns the reply, awaited if it must be.
    private func ask(
        _ service: NameServerService,
        _ message: [UInt8],
        from address: HTTPDNSAddress = local,
        isStream: Bool = false
    ) async -> [UInt8] {
        switch service.reply(to: message, from: .init(address: address, isStream: isStream)) {
        case .none: []
        case .now(let reply): reply
        case .later(let work): await work.reply()
        }
    }

    /// Returns code, seconds and data of the records, and the extended errors: `NOERROR 30 203.0.113.8`.
    private func text(_ reply: [UInt8], _ name: String, _ type: DNSRecordType) throws -> String {
        var message = reply
        (message[0], message[1]) = (0, 0)
        let response = try DNSResponse(parsing: message, to: DNSQuestion(try HTTPDNSName(name), type: type))
        let records = response.answers.map { record -> String in
            guard case .address(let address) = record.content else { return "\(record.content)" }
            return "\(record.timeToLive) \(address)"
        }
        let absence = response.authorities.map { "SOA \($0.timeToLive)" }
        return (["\(response.responseCode)"] + records + absence + response.extendedErrors.map(\.description))
            .joined(separator: " ")
    }

    @Test(
        "Names with a mapping or route are answered, and others are refused",
        arguments: [
            ("mapped.test", .a, "NOERROR 30 203.0.113.8"), ("mapped.test", .aaaa, "NOERROR 30 2001:db8::8"),
            ("short.test", .a, "NOERROR 5 203.0.113.8"), ("short.test", .aaaa, "NOERROR SOA 5"),
            ("ported.test", .a, "NOERROR SOA 5"), ("mapped.test", .https, "NOERROR SOA 5"),
            ("mapped.test", .mx, "NOERROR SOA 5"), ("a.routed.test", .a, "NOERROR 30 203.0.113.7"),
            ("a.routed.test", .aaaa, "NOERROR SOA 5"),
            ("gone.routed.test", .a, "NXDOMAIN SOA 5"),
            ("down.routed.test", .a, "SERVFAIL No Reachable Authority (22)"),
            ("private.routed.test", .a, "NOERROR SOA 5 Blocked (15)"), ("other.test", .a, "REFUSED"),
            ("localhost", .a, "REFUSED"), ("mapped.test", DNSRecordType(number: 255), "REFUSED"),
            ("mapped.test", DNSRecordType(number: 252), "REFUSED"), ("1.113.0.203.in-addr.arpa", .ptr, "REFUSED"),
        ] as [(String, DNSRecordType, String)]
    )
    func replies(_ name: String, _ type: DNSRecordType, _ expected: String) async throws {
        let (service, resolver) = try service()
        let message = try query(name, type, options: [])
        let first = await ask(service, message)
        #expect(try text(first, name, type) == expected)
        // From the cache too.
        #expect(try text(await ask(service, message), name, type) == expected)
        resolver.killSwitch.turnOff()
        #expect(try text(await ask(service, message), name, type) == "REFUSED")
        await resolver.shutdown()
    }

    @Test("An answer lives as long as it is cached, and a second at least")
    func life() async throws {
        let (service, resolver) = try service()
        let reply = try text(await ask(service, query("brief.routed.test", .a)), "brief.routed.test", .a)
        #expect((1...9).map { "NOERROR \($0) 203.0.113.7" }.contains(reply), "\(reply)")
        await resolver.shutdown()
    }

    @Test("Weighted addresses are drawn for each query, and live a second")
    func weights() async throws {
        let (service, resolver) = try service()
        var first: Set<String> = []
        for _ in 0..<64 {
            let reply = try text(await ask(service, query("weighted.test", .a)), "weighted.test", .a)
            #expect(reply == "NOERROR 1 203.0.113.1 1 203.0.113.2" || reply == "NOERROR 1 203.0.113.2 1 203.0.113.1")
            first.insert(reply)
        }
        #expect(first.count == 2)
        await resolver.shutdown()
    }

    @Test("Another version of EDNS, and another class, are refused with their codes")
    func versions() async throws {
        let (service, resolver) = try service()
        let version = await ask(service, try query("mapped.test", .a, options: [], version: 1))
        #expect(try text(version, "mapped.test", .a) == "BADVERS")
        let chaos = await ask(service, try query("mapped.test", .txt, recordClass: 3))
        #expect(chaos[3] & 15 == 5)
        #expect(await ask(service, [1, 2, 3]).isEmpty)
        await resolver.shutdown()
    }

    @Test("An answer that is too long for a datagram is truncated, and whole over TCP")
    func lengths() async throws {
        let (service, resolver) = try service()
        for options in [nil, []] as [[UInt8]?] {
            let message = try query("many.test", .a, options: options)
            let datagram = await ask(service, message)
            #expect(datagram[2] & 2 == 2 && datagram.count == message.count)
            let stream = await ask(service, message, isStream: true)
            #expect(stream[2] & 2 == 0 && stream[7] == 100)
        }
        await resolver.shutdown()
    }

    @Test("Loopback and listed networks may ask; a refusal is no longer than the query")
    func allowed() async throws {
        let message = try query("mapped.test", .a, options: [])
        let (closed, first) = try service()
        let refusal = await ask(closed, message, from: Self.stranger)
        #expect(refusal[3] & 15 == 5 && refusal.count <= message.count)
        let (open, second) = try service(allowed: [try #require(HTTPDNSAddressBlock("192.0.2.0/24"))])
        #expect(await ask(open, message, from: Self.stranger)[3] & 15 == 0)
        #expect(await ask(open, message, from: HTTPDNSAddress(v4: 198, 51, 100, 1))[3] & 15 == 5)
        #expect(closed.counters.notAllowed == 1 && open.counters.notAllowed == 1)
        await first.shutdown()
        await second.shutdown()
    }

    @Test("Beyond loopback a datagram has one address, until its cookie returns")
    func cookies() async throws {
        let (service, resolver) = try service(allowed: [try #require(HTTPDNSAddressBlock("192.0.2.0/24"))])
        func isWhole(_ name: String, options: [UInt8]?, from address: HTTPDNSAddress = Self.stranger) async throws
            -> Bool
        {
            let reply = await ask(service, try query(name, .a, options: options), from: address)
            return reply[2] & 2 == 0
        }
        #expect(try await isWhole("mapped.test", options: nil))
        #expect(try await isWhole("mapped.test", options: []))
        #expect(try await !isWhole("weighted.test", options: nil))
        #expect(try await !isWhole("weighted.test", options: []))
        #expect(try await isWhole("weighted.test", options: [], from: Self.local))
        let client = (1...8).map { UInt8($0) }
        let reply = await ask(
            service,
            try query("weighted.test", .a, options: [0, 10, 0, 8] + client),
            from: Self.stranger
        )
        #expect(reply[2] & 2 == 2)
        let cookie = Array(reply.suffix(24))
        #expect(Array(cookie.prefix(8)) == client)
        #expect(try await isWhole("weighted.test", options: [0, 10, 0, 24] + cookie))
        // Another client, another address, and a guess.
        #expect(try await !isWhole("weighted.test", options: [0, 10, 0, 24] + cookie.map { $0 ^ 1 }))
        let other = HTTPDNSAddress(v4: 192, 0, 2, 78)
        #expect(try await !isWhole("weighted.test", options: [0, 10, 0, 24] + cookie, from: other))
        for index in cookie.indices {
            var forged = cookie
            forged[index] ^= 1
            #expect(try await !isWhole("weighted.test", options: [0, 10, 0, 24] + forged), "\(index)")
        }
        await resolver.shutdown()
    }

    @Test("A cookie counts for an hour, and not before it was made")
    func cookieLife() {
        var generator = SystemRandomNumberGenerator()
        let cookies = ServerCookies(using: &generator)
        let client: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let cookie = cookies.cookie(client, Self.local, at: 10_000)
        for (seconds, isValid) in [(9_999, false), (10_000, true), (13_600, true), (13_601, false)] as [(UInt32, Bool)]
        {
            #expect(cookies.isValid(cookie, client, Self.local, at: seconds) == isValid, "\(seconds)")
        }
        let others = ServerCookies(using: &generator)
        #expect(!others.isValid(cookie, client, Self.local, at: 10_000))
        #expect(!cookies.isValid([], client, Self.local, at: 10_000))
    }

    @Test("Of too many waiting queries the oldest one is given up")
    func waiting() {
        var waiting = WaitingQueries<Int>(limit: 3)
        let numbers = (0..<8).map { _ in waiting.draw() }
        #expect(numbers[..<3].map { waiting.add(Int($0), as: $0) } == [nil, nil, nil])
        #expect(waiting.remove(numbers[1]) == 1 && waiting.remove(numbers[1]) == nil)
        #expect(waiting.add(3, as: numbers[3]) == nil)
        #expect(waiting.add(4, as: numbers[4]) == 0)
        #expect(waiting.add(5, as: numbers[5]) == 2)
        #expect(waiting.removeAll().sorted() == [3, 4, 5])
        #expect(waiting.add(6, as: numbers[6]) == nil && waiting.remove(numbers[6]) == 6)
    }
}
#endif
