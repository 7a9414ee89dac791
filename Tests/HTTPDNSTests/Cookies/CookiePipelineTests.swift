// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

/// The step of cookies among the other steps of a call, on a scripted wire.
struct CookiePipelineTests {
    /// A jar for which `test` is the only public suffix.
    private static func jar() -> HTTPDNSClient.CookieJar {
        HTTPDNSClient.CookieJar(limits: .init(), file: nil, suffixes: PublicSuffixes(source: "test") { $0 == "test" })
    }

    private func rig(
        _ jar: HTTPDNSClient.CookieJar,
        _ wire: ScriptedWire = ScriptedWire(),
        _ configure: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) throws -> Rig {
        try Rig(wire: wire) { configuration in
            configuration.cookies = .jar(jar)
            try configure(&configuration)
        }
    }

    private static func setting(_ cookie: String, _ status: Int = 200, to location: String? = nil) -> HTTPFields {
        var fields: HTTPFields = [.setCookie: cookie]
        if let location { fields[.location] = location }
        return fields
    }

    private func sent(_ rig: Rig) -> [String?] { rig.wire.requests.map { $0.headerFields[.cookie] } }

    @Test("Without cookies in the settings a Set-Cookie has no effect")
    func off() async throws {
        let rig = try Rig(wire: ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("a=1")) })
        for _ in 0..<2 { _ = try await rig.client.get("https://one.test/") }
        #expect(sent(rig) == [nil, nil] && rig.client.cookieJar == nil)
    }

    @Test("A cookie belongs to the name in the URL, not to a mapping's address or target")
    func names() async throws {
        let jar = Self.jar()
        let rig = try rig(jar, ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("a=1")) }) {
            $0.resolver.mappings = [
                try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.1"]),
                try HTTPDNSMapping.Key("alias.test"): HTTPDNSMapping(
                    .via(try HTTPDNSName("one.test"), usesTargetIdentity: true)
                ),
            ]
        }
        _ = try await rig.client.get("https://one.test/")
        _ = try await rig.client.get("https://map.test/")
        _ = try await rig.client.get("https://alias.test/")
        _ = try await rig.client.get("https://map.test/")
        #expect(sent(rig) == [nil, nil, nil, "a=1"])
        #expect(jar.cookies.map(\.domain) == ["one.test", "map.test", "alias.test"])
    }

    @Test("A cookie of a redirect is sent with the next hop")
    func redirect() async throws {
        let wire = ScriptedWire(.status(.found, Self.setting("a=1", to: "/next")))
        let rig = try rig(Self.jar(), wire)
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == [nil, "a=1"])
    }

    @Test("A redirect to another site gets no Strict cookies, and Lax ones only if safe")
    func crossSite() async throws {
        let jar = Self.jar()
        for field in ["s=1; SameSite=Strict", "l=1; SameSite=Lax", "u=1", "n=1; SameSite=None; Secure"] {
            try jar.store(field, from: "https://two.test/")
            try jar.store(field, from: "https://one.test/")
        }
        let wire = ScriptedWire { request, number in
            guard number % 2 == 0 else { return .ok(from: request) }
            let status = HTTPResponse.Status(code: 307)
            return .ok(from: request, status: status, fields: [.location: "https://two.test/"])
        }
        let rig = try rig(jar, wire)
        _ = try await rig.client.get("https://one.test/")
        _ = try await rig.client.post("https://one.test/", body: .text("x"))
        let all = "s=1; l=1; u=1; n=1"
        #expect(sent(rig) == [all, "l=1; u=1; n=1", all, "n=1"])
    }

    @Test("A call that comes back from another site gets no Strict cookie")
    func backAgain() async throws {
        let jar = Self.jar()
        try jar.store("s=1; SameSite=Strict; Domain=one.test", from: "https://one.test/")
        let targets = ["https://one.test/a", "https://two.test/", "https://one.test/b"]
        let wire = ScriptedWire { request, number in
            guard number < targets.count else { return .ok(from: request) }
            return .ok(from: request, status: .found, fields: [.location: targets[number]])
        }
        let rig = try rig(jar, wire)
        _ = try await rig.client.get("http://one.test/")
        #expect(sent(rig) == ["s=1", "s=1", nil, nil])
    }

    @Test("A retry sends the cookie that the failed try has set")
    func retry() async throws {
        let wire = ScriptedWire(.status(.serviceUnavailable, Self.setting("a=1")))
        let rig = try rig(Self.jar(), wire) {
            $0.retries = .standard
            $0.random = { 0 }
        }
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == [nil, "a=1"])
    }

    @Test("A request with its own Cookie field gets no other")
    func ownField() async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar, ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("b=2")) })
        _ = try await rig.client.get("https://one.test/", headerFields: [.cookie: "own=1"])
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == ["own=1", "a=1; b=2"])
    }

    @Test("A request without cookies sends none and stores none")
    func switchedOff() async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar, ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("b=2")) })
        _ = try await rig.client.get("https://one.test/") { $0.usesCookies = false }
        #expect(sent(rig) == [nil] && jar.cookies.map(\.name) == ["a"])
    }

    @Test("Several Set-Cookie fields of one response are all stored, and sent in one field")
    func several() async throws {
        let wire = ScriptedWire { request, _ in
            var fields = HTTPFields()
            for value in ["a=1", "b=2; Path=/x", "c=3"] { fields.append(HTTPField(name: .setCookie, value: value)) }
            return .ok(from: request, fields: fields)
        }
        let rig = try rig(Self.jar(), wire)
        for _ in 0..<2 { _ = try await rig.client.get("https://one.test/x") }
        #expect(sent(rig) == [nil, "b=2; a=1; c=3"])
        let fields = rig.wire.requests[1].headerFields[fields: .cookie]
        #expect(fields.count == 1 && fields[0].indexingStrategy == .disallow)
    }

    @Test("Network interceptors see the cookies, and those of their responses are stored")
    func interceptors() async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let seen = Lock<[String?]>([])
        let rig = try rig(jar) {
            $0.networkInterceptors = [
                Around { request, context, next in
                    seen.withLock { $0.append(request.headerFields[.cookie]) }
                    var response = try await next(request, context)
                    response.head.headerFields[.setCookie] = "b=2"
                    return response
                }
            ]
        }
        for _ in 0..<2 { _ = try await rig.client.get("https://one.test/") }
        #expect(seen.withLock { $0 } == ["a=1", "a=1; b=2"])
    }

    @Test(
        "An interceptor that sends to another host takes no cookies along",
        arguments: ["https://two.test/", "http://one.test/", "https://www.one.test/"]
    )
    func rerouted(url: String) async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar, ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("b=2")) }) {
            $0.resolver.mappings = [try HTTPDNSMapping.Key("www.one.test"): .addresses(["203.0.113.1"])]
            $0.networkInterceptors = [Around.before { $0.url = url }]
        }
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == [nil])
        let host = url.split(separator: "/")[1]
        #expect(jar.cookies.map { "\($0.name)@\($0.domain)" } == ["a@one.test", "b@\(host)"])
    }

    /// A comparison of whole fields would let the changed field pass.
    @Test("A Cookie field that an interceptor has extended does not reach another host")
    func extended() async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar) {
            $0.networkInterceptors = [
                Around.before { request in
                    request.headerFields[.cookie] = (request.headerFields[.cookie] ?? "") + "; more=1"
                    request.url = "https://two.test/"
                }
            ]
        }
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == [nil])
    }

    @Test("An interceptor that sends to another host takes the caller's own Cookie along", arguments: [true, false])
    func ownCookie(usesCookies: Bool) async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar) {
            $0.networkInterceptors = [try HTTPDNSClient.URLRewriting(["https://one.test/": "https://two.test/"])]
        }
        _ = try await rig.client.get("https://one.test/", headerFields: [.cookie: "own=1"]) {
            $0.usesCookies = usesCookies
        }
        #expect(sent(rig) == ["own=1"])
    }

    @Test("An interceptor that changes only the path keeps the cookies")
    func otherPath() async throws {
        let jar = Self.jar()
        try jar.store("a=1", from: "https://one.test/")
        let rig = try rig(jar) {
            $0.networkInterceptors = [Around.before { $0.url += "path" }]
        }
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == ["a=1"])
    }

    @Test("The client's own Cookie header field yields to the jar")
    func defaultHeader() async throws {
        let jar = Self.jar()
        let rig = try rig(jar) { $0.headers.fields = [.cookie: "own=1"] }
        _ = try await rig.client.get("https://one.test/")
        try jar.store("a=1", from: "https://one.test/")
        _ = try await rig.client.get("https://one.test/")
        #expect(sent(rig) == ["own=1", "a=1"])
    }

    @Test("A change of the setting takes effect at the next start")
    func reload() async throws {
        let rig = try rig(Self.jar())
        var configuration = rig.configuration
        configuration.cookies = .off
        #expect(try await rig.client.reload(configuration).needsRestart == ["client.cookies"])
        #expect(rig.client.cookieJar != nil)
    }

    @Test("Two clients share a jar")
    func shared() async throws {
        let jar = Self.jar()
        let first = try rig(jar, ScriptedWire { request, _ in .ok(from: request, fields: Self.setting("a=1")) })
        let second = try rig(jar)
        _ = try await first.client.get("https://one.test/")
        _ = try await second.client.get("https://one.test/")
        #expect(sent(second) == ["a=1"])
    }
}
