// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

struct DefaultHeadersTests {
    private static let trace = name("X-Trace")
    private static let tenant = name("X-Tenant")

    private static func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text)! }

    /// Three for every host; for those below `map.test`'s suffix another agent, and no language.
    private func rig(
        _ wire: ScriptedWire = ScriptedWire(),
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) throws -> Rig {
        try Rig(wire: wire) { configuration in
            configuration.headers.fields = [.userAgent: "shop/1.4", .acceptLanguage: "de", Self.tenant: "7"]
            configuration.headers.byHost[try HTTPDNSRoute.Pattern("map.test")] = .init(
                [.userAgent: "shop-map/1", Self.trace: "m"],
                without: [.acceptLanguage]
            )
            try change(&configuration)
        }
    }

    private func sent(_ rig: Rig, _ request: HTTPDNSClient.Request) async throws -> HTTPFields {
        _ = try await rig.client.execute(request).body.collect(upTo: .kibibytes(1))
        return try #require(rig.wire.requests.last).headerFields
    }

    @Test("The host's defaults precede the client's, and the request's fields both")
    func order() async throws {
        let rig = try rig()
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        #expect(try await sent(rig, request) == [.userAgent: "shop/1.4", .acceptLanguage: "de", Self.tenant: "7"])
        request.headerFields = [.userAgent: "mine"]
        request.changeOptions { $0.withoutHeaders = [Self.tenant] }
        #expect(try await sent(rig, request) == [.userAgent: "mine", .acceptLanguage: "de"])
        request.url = "https://MAP.test./"
        #expect(try await sent(rig, request) == [.userAgent: "mine", Self.trace: "m"])
        request.headerFields = [:]
        request.changeOptions { $0.withoutHeaders = [.userAgent] }
        #expect(try await sent(rig, request) == [Self.tenant: "7", Self.trace: "m"])
    }

    @Test("A name with several fields keeps them all, or is replaced as a whole")
    func several() async throws {
        let two: HTTPFields = [.accept: "text/html", .accept: "text/plain"]
        let rig = try rig { $0.headers = HTTPDNSClient.Configuration.DefaultHeaders(two) }
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        #expect(try await sent(rig, request) == two)
        request.headerFields = [.accept: "image/png"]
        #expect(try await sent(rig, request) == [.accept: "image/png"])
    }

    /// Their function gets the hop's own request.
    @Test("Computed headers are asked for on each hop and go before the others")
    func computed() async throws {
        let asked = Lock<[HTTPDNSClient.Request]>([])
        let rig = try rig(ScriptedWire { $1 == 0 ? .redirect(302, to: "https://map.test/b", from: $0) : .ok(from: $0) })
        {
            $0.computedHeaders = { request in
                let count = asked.withLock { asked in
                    asked.append(request)
                    return asked.count
                }
                return [.userAgent: "computed/\(count)"]
            }
        }
        var request = HTTPDNSClient.Request(url: "https://one.test/a")
        request.headerFields = [.accept: "text/plain"]
        _ = try await rig.client.execute(request).body.collect(upTo: .kibibytes(1))
        #expect(rig.wire.requests.map { $0.headerFields[.userAgent] } == ["computed/1", "computed/2"])
        #expect(asked.withLock { $0.map(\.url) } == ["https://one.test/a", "https://map.test/b"])
        #expect(asked.withLock { $0.allSatisfy { $0.headerFields == [.accept: "text/plain"] } })
    }

    @Test("An error while headers are computed is the call's, and nothing is sent")
    func computingFails() async throws {
        struct NoToken: Error {}
        let rig = try rig { $0.computedHeaders = { _ in throw NoToken() } }
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == .interceptorFailed && error?.underlying is NoToken)
        let refused = try self.rig { $0.computedHeaders = { _ in [Self.name("Host"): "two.test"] } }
        #expect(await clientError { try await refused.client.get("https://one.test/") }?.code == .invalidRequest)
        #expect(rig.wire.requests.isEmpty && refused.wire.requests.isEmpty)
    }

    /// The rule is about the fields for every host. The fields of a host are its own.
    @Test("Secret default headers go only to the origins that requests name")
    func redirects() async throws {
        let rig = try rig(ScriptedWire { $1 == 0 ? .redirect(307, to: "https://map.test/", from: $0) : .ok(from: $0) })
        {
            $0.headers.fields[.authorization] = "Bearer everywhere"
            $0.computedHeaders = { _ in [.cookie: "computed=1"] }
            $0.redirects.secretFields.insert(Self.tenant)
            $0.headers.byHost[try HTTPDNSRoute.Pattern("map.test")]?.fields[.cookie] = "map=1"
        }
        _ = try await rig.client.get("https://one.test/").body.collect(upTo: .kibibytes(1))
        let (first, second) = (rig.wire.requests[0].headerFields, rig.wire.requests[1].headerFields)
        #expect(
            first[.authorization] == "Bearer everywhere" && first[Self.tenant] == "7" && first[.cookie] == "computed=1"
        )
        #expect(second == [.userAgent: "shop-map/1", Self.trace: "m", .cookie: "map=1"])
        // Named by the request itself, that host is given what every host is given.
        _ = try await rig.client.get("https://map.test/").body.collect(upTo: .kibibytes(1))
        #expect(rig.wire.requests[2].headerFields[.authorization] == "Bearer everywhere")
    }

    @Test("A credential in the URL is the request's own Authorization")
    func credential() async throws {
        let rig = try rig { $0.headers.fields[.authorization] = "Bearer everywhere" }
        let fields = try await sent(rig, HTTPDNSClient.Request(url: "https://a:b@one.test/"))
        #expect(fields[values: .authorization] == ["Basic YTpi"])
    }

    /// None is sent twice after a retry and a redirect.
    @Test("Over the wire defaults are sent, overridden or removed")
    func overTheWire() async throws {
        let server = try RawServer(
            .readHead,
            .respond(status: "503 X"),
            .readHead,
            .respond(status: "302 X", fields: "Location: /b\r\n"),
            .serve("ok")
        )
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1:\(server.port)"])
        configuration.headers.fields = [.userAgent: "shop/1.4", Self.tenant: "7"]
        configuration.retries = .standard
        configuration.retries.delay = .zero
        let client = try await HTTPDNSClient(configuration: configuration)
        _ = try await client.get("http://one.test/a").body.collect(upTo: .kibibytes(1))
        var request = HTTPDNSClient.Request(url: "http://one.test/c")
        request.headerFields = [.userAgent: "mine"]
        request.changeOptions { $0.withoutHeaders = [Self.tenant] }
        _ = try await client.execute(request).body.collect(upTo: .kibibytes(1))
        try await client.shutdown()
        let heads = server.text.split(separator: "\r\n\r\n").map(String.init)
        #expect(heads.count == 4)
        for head in heads.prefix(3) {
            #expect(
                head.ranges(of: "User-Agent: shop/1.4").count == 1 && head.ranges(of: "X-Tenant: 7").count == 1,
                "\(head)"
            )
        }
        #expect(heads.last?.ranges(of: "User-Agent: mine").count == 1 && heads.last?.contains("shop") == false)
        #expect(heads.last?.contains("X-Tenant") == false)
    }

    @Test("The client's own fields are refused, and so is \"*\"")
    func mistakes() async throws {
        for (change, text): (@Sendable (inout HTTPDNSClient.Configuration) throws -> Void, String) in [
            ({ $0.headers.fields[Self.name("Host")] = "x" }, "Host"),
            (
                { $0.headers.byHost[try HTTPDNSRoute.Pattern("a.test")] = .init([.contentLength: "3"]) },
                "Content-Length"
            ),
            ({ $0.headers.byHost[.any] = .init() }, "\"*\""),
        ] {
            var configuration = HTTPDNSClient.Configuration()
            try change(&configuration)
            let error = await clientError { try await HTTPDNSClient(configuration: configuration) }
            #expect(
                error?.code == .configuration && error?.message.contains(text) == true,
                "\(String(describing: error))"
            )
        }
    }

    @Test("A reload changes the default headers for the next hop")
    func reload() async throws {
        let rig = try rig()
        var configuration = rig.configuration
        configuration.headers.fields[.userAgent] = "shop/1.5"
        #expect(try await rig.client.reload(configuration).isChanged)
        #expect(try await sent(rig, HTTPDNSClient.Request(url: "https://one.test/"))[.userAgent] == "shop/1.5")
    }
}
